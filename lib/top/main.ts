#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { type RedisWindows, redisWindows } from '../throttle/inspect/redis-windows'
import { plain, screen } from './screen'

const USAGE = `express-tollgate top --redis URL [--prefix tollgate:] [--every 2] [--json]

Shows who is spending processing time and who is refused, out of what redisStore() keeps in Redis or a Cluster. It only reads.

  --redis   redis:// or rediss://; default REDIS_URL of the environment, which keeps a password out of ps
  --prefix  that of redisStore(); default tollgate:
  --every   seconds between two looks, 1 to 3600; default 2. Without a terminal it looks once
  --json    looks once and prints one JSON object

Subjects are hashes. OVER LIMIT is the limit of who has exceeded it and is refused until the window ends.
`
const HOME_AND_CLEAR = '\x1b[H\x1b[2J'

/** What was asked for cannot be done; the message says what to do. */
class UsageError extends Error {}

main().catch((err: unknown) => {
  const misuse = err instanceof UsageError
  process.stderr.write(`express-tollgate: ${plain((err as Error).message)}\n${misuse ? `\n${USAGE}` : ''}`)
  process.exitCode = misuse ? 2 : 1
})

async function main(): Promise<void> {
  const { url, prefix, everyMs, json, help } = asked()
  if (help) return void process.stdout.write(USAGE)
  const windows = await redisWindows(url, prefix)
  try {
    if (json)
      process.stdout.write(`${JSON.stringify({ at: new Date().toISOString(), windows: await windows.read() })}\n`)
    else if (!process.stdout.isTTY) process.stdout.write(screen(await windows.read(), Infinity))
    else await refresh(windows, everyMs)
  } finally {
    windows.close()
  }
}

/** Until Ctrl-C, or until Redis does not answer. */
async function refresh(windows: RedisWindows, everyMs: number): Promise<void> {
  for (;;) {
    process.stdout.write(HOME_AND_CLEAR + screen(await windows.read(), process.stdout.rows))
    await new Promise((resolve) => setTimeout(resolve, everyMs))
  }
}

function asked() {
  const { values, positionals } = parsed()
  const { redis: url = process.env.REDIS_URL ?? '', prefix = 'tollgate:', every = '2', json = false, help } = values
  if (help) return { url, prefix, everyMs: 0, json, help: true }
  if (positionals.join(' ') !== 'top')
    throw new UsageError(`the one command is top; received "${positionals.join(' ')}"`)
  if (!/^rediss?:\/\//.test(url) || !URL.canParse(url))
    throw new UsageError('--redis must be a redis:// or rediss:// URL')
  const everySec = Number(every)
  if (!(everySec >= 1 && everySec <= 3_600)) throw new UsageError(`--every must be 1 to 3600; received "${every}"`)
  return { url, prefix, everyMs: everySec * 1_000, json, help: false }
}

function parsed() {
  try {
    const text = { type: 'string' } as const
    const flag = { type: 'boolean' } as const
    const options = { redis: text, prefix: text, every: text, json: flag, help: { ...flag, short: 'h' } } as const
    return parseArgs({ allowPositionals: true, options })
  } catch (err) {
    throw new UsageError((err as Error).message)
  }
}
