import { parseArgs } from 'node:util'
import { adviceOf } from '../advisor/advice'
import type { PublishedWindow } from '../inspect/published-window'
import { HOURS_KEPT, hourOf } from '../advisor/hourly'
import type { RedisWindows } from '../inspect/redis-windows'
import { adviceText, limitsIn } from './advice-text'
import { ReopenedRedis } from './reopened-redis'
import { UNBOUNDED, jsonLine, plain, table, withoutUrls } from './screen'
import { watch } from './terminal'
import { type SubjectDigest, keyedDigest } from '../throttle/budget/subjects'
import { found } from './view'
import { isUrl } from '../http/url'

// eslint-disable-next-line @typescript-eslint/no-require-imports -- the package's own file, beside dist and lib
const { version } = require('../../package.json') as { version: string }

const USAGE = `express-tollgate advise [--redis URL] [--prefix tollgate:] [--window default] [--limit 10s,18s] [--hours 24] [--json]

Says what limits would mean: how much processing time users used per window, and how many windows of users would have had refusals.

  --window  one window; default all
  --limit   candidate limits in ms, s or m; default 0.5, 1, 2 and 5 times the present limit, or times p99 where no window is open or the limit is by request
  --hours   how many hours back, 1 to 168; default 24

express-tollgate --version

express-tollgate top [--redis URL] [--prefix tollgate:] [--find SUBJECT] [--every 2] [--once] [--json]

Shows who uses processing time and who is refused, out of what redisStore() keeps in Redis or a Cluster. It only reads.

  --redis   redis:// or rediss://; default REDIS_URL of the environment, which keeps a password out of ps
  --prefix  that of redisStore(); default tollgate:. With a keyPrefix of your client give both: app:tollgate:
  --find    shows one subject, by req.throttle.subject such as user:ada, or by a part of its hash; where redisStore() has a hashKey, TOLLGATE_HASH_KEY of the environment has to be the same
  --every   seconds between two looks, 1 to 3600; default 2
  --once    looks once and prints all; so it does without a terminal
  --json    looks once and prints one JSON object

While Redis does not answer, a terminal keeps the last figures and says how old they are and why; it goes on by itself.

In a terminal: q quits, / filters by hash, name or window, s l h r p e sort. Subjects are hashes unless redisStore() keeps names. A subject that used more than the limit is refused until its window ends.
`

/** What was asked for cannot be done; the message says what to do. */
class UsageError extends Error {}

/** Where it writes: standard output, or what a spec looks at. */
export interface Output {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

/**
 * Runs one command.
 *
 * @param args those after the program's name
 * @returns the exit code: 0; 1 where it cannot be done, 2 where the arguments are wrong
 */
export async function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  out: Output,
  errors: Output,
): Promise<number> {
  try {
    await answer(asked(args, env), out)
    return 0
  } catch (err) {
    const isMisuse = err instanceof UsageError
    const help = isMisuse ? 'express-tollgate --help shows what there is\n' : ''
    errors.write(`express-tollgate: ${plain(withoutUrls((err as Error).message))}\n${help}`)
    return isMisuse ? 2 : 1
  }
}

async function answer(given: Asked, out: Output): Promise<void> {
  if (given.help) return void out.write(USAGE)
  if (given.version) return void out.write(`${version}\n`)
  const redis = new ReopenedRedis(given.url, given.prefix)
  await redis.open() // a wrong address ends it at once
  try {
    await (given.command === 'advise' ? advise(redis, given, out) : top(redis, given, out))
  } finally {
    redis.close()
  }
}

async function advise(
  redis: ReopenedRedis,
  { window, limitsMs, hours, json, prefix }: Asked,
  out: Output,
): Promise<void> {
  const [usage, limits] = await redis.lookPatiently(async (windows) => {
    const usage = [...(await windows.usage(hourOf(Date.now() * 1_000) - hours + 1))]
    return [usage, presentLimits((await windows.top(new Set(usage.map(([name]) => name)))).windows)] as const
  })
  const all = usage
    .filter(([name]) => window === undefined || name === window)
    .map(([name, record]) => {
      const limitMs = limits.get(name) ?? null
      const advice = adviceOf({ name, windowMs: 0, limitMs }, record, hours, false, limitsMs)
      return { ...advice, windowMs: undefined } // Redis does not know how long the window is
    })
    .sort((a, b) => (a.window < b.window ? -1 : 1))
  if (json) return void out.write(`${jsonLine(all)}\n`)
  const sought = window === undefined ? 'window' : `window "${plain(window)}"`
  const nothing = `no ${sought} with counted time in ${hours} ${hours === 1 ? 'hour' : 'hours'}${lookedUnder(prefix)}\n`
  out.write(all.length === 0 ? nothing : all.map(adviceText).join('\n'))
}

/** The present limit of each window, where all that are open have the same. */
function presentLimits(open: readonly PublishedWindow[]): Map<string, number> {
  const limits = new Map<string, number>()
  for (const { window, limitMs } of open) {
    const known = limits.get(window)
    limits.set(window, known === undefined || known === limitMs ? limitMs : NaN) // NaN: the limit is by request
  }
  for (const [window, limitMs] of limits) if (!(limitMs > 0)) limits.delete(window)
  return limits
}

/** A client's keyPrefix comes before the store's prefix: whoever gives only one of them sees nothing. */
function lookedUnder(prefix: string): string {
  return ` under the prefix ${plain(prefix)} (with a keyPrefix of the client give both: --prefix app:${plain(prefix)})`
}

async function top(
  redis: ReopenedRedis,
  { find, digest, everyMs, once, json, prefix }: Asked,
  out: Output,
): Promise<void> {
  const read = async (windows: RedisWindows) => {
    const { windows: all, ...processes } = await windows.read()
    return { windows: find === undefined ? all : found(all, find, digest), ...processes }
  }
  const { isTTY, columns = UNBOUNDED.columns } = out
  if (isTTY && !once && !json) return watch(() => redis.look(read), everyMs)
  const published = await redis.lookPatiently(read)
  if (json) return void out.write(`${jsonLine({ at: new Date().toISOString(), ...published })}\n`)
  out.write(table(published, isTTY ? { ...UNBOUNDED, columns } : UNBOUNDED))
  if (published.windows.length > 0 || published.trouble !== undefined) return
  const under = lookedUnder(prefix)
  const silent = `no process reports${under}: none runs, or its log says TOLLGATE_DEGRADED`
  out.write(`${published.processes === 0 ? silent : `nothing is open${under}`}\n`)
}

type Asked = ReturnType<typeof asked>

function asked(args: readonly string[], env: NodeJS.ProcessEnv) {
  const { values, positionals } = parsed(args)
  const { redis: url = env.REDIS_URL ?? '', prefix = 'tollgate:', window, find, once = false, json = false } = values
  const { every = '2', hours = '24', limit, help = false, version = false } = values
  const command = positionals.join(' ')
  const limitsMs = limit === undefined ? undefined : limitsIn(limit)
  const [everySec, hourCount] = [Number(every), Number(hours)]
  const given = {
    command,
    url,
    prefix,
    window,
    find,
    digest: env.TOLLGATE_HASH_KEY ? hashKeyOf(env.TOLLGATE_HASH_KEY) : undefined,
    everyMs: everySec * 1_000,
    hours: hourCount,
    limitsMs,
    once,
    json,
    help,
    version,
  }
  if (help || version) return given
  if (command !== 'top' && command !== 'advise')
    throw new UsageError(`the commands are top and advise; received "${command}"`)
  if (url === '') throw new UsageError('which Redis? Give --redis with a redis:// URL, or set REDIS_URL')
  if (!/^rediss?:\/\//.test(url) || !isUrl(url)) throw new UsageError('--redis must be a redis:// or rediss:// URL')
  if (!(everySec >= 1 && everySec <= 3_600)) throw new UsageError(`--every must be 1 to 3600; received "${every}"`)
  if (!Number.isInteger(hourCount) || hourCount < 1 || hourCount > HOURS_KEPT)
    throw new UsageError(`--hours must be 1 to ${HOURS_KEPT}; received "${hours}"`)
  if (limit !== undefined && limitsMs === undefined)
    throw new UsageError(`--limit must be a list such as 10s,1.5s,500ms; received "${limit}"`)
  return given
}

function hashKeyOf(hashKey: string): SubjectDigest {
  try {
    return keyedDigest(hashKey)
  } catch (err) {
    throw new UsageError(`TOLLGATE_HASH_KEY: ${(err as Error).message}`)
  }
}

function parsed(args: readonly string[]) {
  try {
    const text = { type: 'string' } as const
    const flag = { type: 'boolean' } as const
    const options = {
      redis: text,
      prefix: text,
      find: text,
      window: text,
      limit: text,
      hours: text,
      every: text,
      once: flag,
      json: flag,
      help: { ...flag, short: 'h' },
      version: { ...flag, short: 'v' },
    } as const
    return parseArgs({ args: [...args], allowPositionals: true, options })
  } catch (err) {
    throw new UsageError((err as Error).message.split('. ')[0]) // Node's next sentence is about arguments with a dash
  }
}
