// What is asked for: requests as bytes, so that they cost the generator nothing.

export const HOT_USER = 'u0'
export const MANY_USERS = 10_000
/** So many that none comes again within 10 s: time granted ahead has lapsed, so each request asks Redis. */
export const IDLE_USERS = 100_000

/** Nobody reaches the limits: what is measured is the counting. */
export const LIMIT_REQUESTS = 1_000_000_000
export const WINDOW_MS = 60_000
/** Of a limit of 32 windows the throttle asks nobody: no subject could use it up. */
export const LIMIT_MS = 32 * WINDOW_MS - 1
/** So long that no window ends while requests are refused: 24 days, about as long as a timer can be. */
export const REFUSED_WINDOW_MS = 2_073_600_000

/** More tokens than the cache has room for. */
export const COLD_TOKENS = 1_000
export const COLD_CACHE_BYTES = 320_000

export const CLIENT = 'bench-app'
export const SECRET = 'a-secret-of-the-bench-with-256-bits-of-it-00'

export const LOADS = {
  'one user': { expect: 200 },
  '10,000 users': { expect: 200 },
  '100,000 users': { expect: 200 },
  refused: { expect: 429 },
  'one token': { expect: 200 },
  '1,000 tokens': { expect: 200 },
  'client credentials': { expect: 200 },
} as const
export type LoadName = keyof typeof LOADS

/** The requests of a load, which are sent in turn. @param tokens of which the first is the one token */
export function requestsOf(load: LoadName, tokens: readonly string[]): Buffer[] {
  const get = (field: string) => Buffer.from(`GET / HTTP/1.1\r\nHost: localhost\r\n${field}\r\n\r\n`)
  const user = (name: string) => get(`X-User: ${name}`)
  if (load === '10,000 users') return Array.from({ length: MANY_USERS }, (_, i) => user(`u${i}`))
  if (load === '100,000 users') return Array.from({ length: IDLE_USERS }, (_, i) => user(`u${i}`))
  if (load === 'one token') return tokens.slice(0, 1).map((token) => get(`Authorization: Bearer ${token}`))
  if (load === '1,000 tokens') return tokens.map((token) => get(`Authorization: Bearer ${token}`))
  return [load === 'client credentials' ? tokenRequest() : user(HOT_USER)]
}

/** RFC 6749 §4.4, with the secret by HTTP Basic. */
function tokenRequest(): Buffer {
  const body = 'grant_type=client_credentials'
  const fields = [
    'POST /token HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${body.length}`,
    `Authorization: Basic ${Buffer.from(`${CLIENT}:${SECRET}`).toString('base64')}`,
  ]
  return Buffer.from(`${fields.join('\r\n')}\r\n\r\n${body}`)
}
