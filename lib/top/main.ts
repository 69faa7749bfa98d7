#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { redisWindows } from '../throttle/inspect/redis-windows'
import { UNBOUNDED, jsonLine, plain, table, withoutUrls } from './screen'
import { watch } from './terminal'
import { found } from './view'

const USAGE = `express-tollgate top [--redis URL] [--prefix tollgate:] [--find SUBJECT] [--every 2] [--once] [--json]

Shows who uses processing time and who is refused, out of what redisStore() keeps in Redis or a Cluster. It only reads.

  --redis   redis:// or rediss://; default REDIS_URL of the environment, which keeps a password out of ps
  --prefix  that of redisStore(); default tollgate:
  --find    shows one subject, by req.throttle.subject such as user:ada, or by a part of its hash
  --every   seconds between two looks, 1 to 3600; default 2
  --once    looks once and prints all; so it does without a terminal
  --json    looks once and prints one JSON object

In a terminal: q quits, / filters by hash, name or window, s l h r p e sort. Subjects are hashes. Whoever used more than the limit is refused until the window ends.
`

/** What was asked for cannot be done; the message says what to do. */
class UsageError extends Error {}

main().catch((err: unknown) => {
  const misuse = err instanceof UsageError
  process.stderr.write(`express-tollgate: ${plain(withoutUrls((err as Error).message))}\n${misuse ? `\n${USAGE}` : ''}`)
  process.exitCode = misuse ? 2 : 1
})

async function main(): Promise<void> {
  const { url, prefix, find, everyMs, once, json, help } = asked()
  if (help) return void process.stdout.write(USAGE)
  const windows = await redisWindows(url, prefix)
  const read = async () => (find === undefined ? windows.read() : found(await windows.read(), find))
  const { isTTY, columns } = process.stdout
  try {
    if (json) {
      process.stdout.write(`${jsonLine({ at: new Date().toISOString(), windows: await read() })}\n`)
    } else if (isTTY && !once) await watch(read, everyMs)
    else process.stdout.write(table(await read(), isTTY ? { ...UNBOUNDED, columns } : UNBOUNDED))
  } finally {
    windows.close()
  }
}

function asked() {
  const { values, positionals } = parsed()
  const {
    redis: url = process.env.REDIS_URL ?? '',
    prefix = 'tollgate:',
    find,
    every = '2',
    once = false,
    json = false,
    help,
  } = values
  if (help) return { url, prefix, find, everyMs: 0, once, json, help: true }
  if (positionals.join(' ') !== 'top')
    throw new UsageError(`the one command is top; received "${positionals.join(' ')}"`)
  if (url === '') throw new UsageError('which Redis? Give --redis with a redis:// URL, or set REDIS_URL')
  if (!/^rediss?:\/\//.test(url) || !URL.canParse(url))
    throw new UsageError('--redis must be a redis:// or rediss:// URL')
  const everySec = Number(every)
  if (!(everySec >= 1 && everySec <= 3_600)) throw new UsageError(`--every must be 1 to 3600; received "${every}"`)
  return { url, prefix, find, everyMs: everySec * 1_000, once, json, help: false }
}

function parsed() {
  try {
    const text = { type: 'string' } as const
    const flag = { type: 'boolean' } as const
    const options = {
      redis: text,
      prefix: text,
      find: text,
      every: text,
      once: flag,
      json: flag,
      help: { ...flag, short: 'h' },
    } as const
    return parseArgs({ allowPositionals: true, options })
  } catch (err) {
    throw new UsageError((err as Error).message)
  }
}
