import { type Hints, same } from '../../http/options'

/** A request of usual length, in milliseconds: to turn a number of requests into work. */
const USUAL_MS = 180
/** The highest number of requests that fits in a limit. */
const MOST = 86_400_000 / USUAL_MS

const written = (value: number) => value.toLocaleString('en').replaceAll(',', '_')

/** `100 requests of 180 ms are limitMs: 18_000`. */
export function asWork(value: unknown): string {
  const count = typeof value === 'number' && value > 0 && value <= MOST ? value : 100
  return (
    'the limit is milliseconds of work, not a number of requests: ' +
    `${written(count)} requests of ${USUAL_MS} ms are limitMs: ${written(Math.ceil(count * USUAL_MS))}`
  )
}

function inSeconds(value: unknown): string {
  const seconds = typeof value === 'number' && value > 0 ? value : 60
  return `write windowMs: ${written(Math.round(seconds * 1_000))}, which are ${written(seconds)} seconds`
}

const ON_DENIED = 'write onDenied: (err, req, res) => res.status(err.status).set(err.headers).json(…)'
const MEASURED = 'leave it out: a request costs what it takes, and a refused one costs nothing'
const LOCAL = "leave it out: with onOutage: 'local', the default, limits stay in force in each process"
const BLOCKED = 'leave it out: a subject over its limit is refused from memory until its window ends'
const STORE = 'write store: redisStore(client)'
const QUEUE = 'leave it out: a request that does not fit waits in a queue, wait: { maxMs: 5_000 }'

const SUBJECT = 'write subject: (req) => …, where undefined means the default, a user or else the client IP address'
const EXEMPT = "to exempt a path write routes: { '/health': false }; to exempt a request return null from subject"

/** What to write in place of other packages' options, in a window of `routes`, too. */
export const WINDOW_HINTS: Hints = {
  ...same(asWork, 'max', 'limit'), // of a throttle they have another line
  ...same(asWork, 'points', 'requests', 'maxRequests', 'rate', 'burst', 'capacity', 'tokensPerInterval'),
  ...same(inSeconds, 'duration', 'windowSec'),
  ...same('write windowMs, in milliseconds', 'interval', 'ttl', 'timeWindow', 'per'),
}

/**
 * What to write in place of other packages' options of a throttle. `keyGenerator` to `ipv6Subnet` are those of
 * express-rate-limit, `keyPrefix` to `execEvenlyMinDelayMs` those of rate-limiter-flexible, `delayAfter` to `maxDelayMs`
 * those of express-slow-down.
 */
export const OPTION_HINTS: Hints = {
  ...WINDOW_HINTS,
  ...same((value) => `${asWork(value)}; handlers read req.throttle, where they read req.rateLimit`, 'max', 'limit'),
  keyGenerator: SUBJECT,
  skip: EXEMPT,
  ...same(ON_DENIED, 'handler', 'message', 'statusCode', 'onLimitReached'),
  standardHeaders: (value) =>
    value === false ? 'leave it out: RateLimit is off by default' : 'write headers: { rateLimit: true }',
  legacyHeaders: (value) => `write headers: { throttle: ${String(value !== false)} } for the fields X-THROTTLE-*`,
  passOnStoreError: (value) =>
    value === false ? "write onOutage: 'closed', which answers 503 while the store is down" : LOCAL,
  ...same(MEASURED, 'skipFailedRequests', 'skipSuccessfulRequests', 'requestWasSuccessful'),
  requestPropertyName: 'leave it out: handlers read budgetOf(req), or req.throttle',
  validate: 'leave it out: wrong options always throw',
  identifier: 'write name, which names the window',
  ipv6Subnet: (value) => `write ipv6Prefix: ${typeof value === 'number' ? value : 56}`,

  keyPrefix: 'write name, which names the window; all keys of a store begin with redisStore(client, { prefix })',
  ...same(STORE, 'storeClient', 'useRedisPackage', 'storeType'),
  ...same(LOCAL, 'insuranceLimiter', 'rejectIfRedisNotReady'),
  ...same(BLOCKED, 'blockDuration', 'inMemoryBlockOnConsumed', 'inMemoryBlockDuration'),
  ...same(QUEUE, 'execEvenly', 'execEvenlyMinDelayMs'),

  ...same(QUEUE, 'delayAfter', 'delayMs', 'maxDelayMs'),

  ...same(STORE, 'redis', 'client'),
  ...same(SUBJECT, 'user', 'userId', 'key', 'getTracker'),
  ...same(EXEMPT, 'exclude', 'ignore', 'allowList', 'allowlist', 'whitelist', 'skipIf', 'ignoreUserAgents'),
  ...same(ON_DENIED, 'error', 'errorMessage', 'errorResponseBuilder'),
  ...same('write wait: { maxMs: 5_000, perSubject: 64 }', 'timeout', 'queue', 'maxWaitMs', 'maxQueue'),
  ...same('leave it out: time is measured; budgetOf(req).charge(ms) adds other costs', 'cost', 'weight'),
  ...same("write routes: { 'POST /search': { limitMs, windowMs } }", 'method', 'methods'),
  ...same('leave it out: warnings are warnings of the process', 'logger', 'log', 'debug'),
  trustProxy: "write app.set('trust proxy', 1), the number of proxies in front",
  enabled: 'leave it out: dryRun: true measures everybody and refuses nobody',
  limitSec: 'write limitMs, in milliseconds',
  paths: "write routes: { '/search': { limitMs, windowMs } }, or mount the throttle on the path",
}
