import type { IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import { shown } from '../options'
import { warnOnce } from '../warn-once'

/** What `clientNetwork()` reads of a request: Express sets `ip` and `app`, other hosts do not. */
type ClientRequest = IncomingMessage & {
  readonly ip?: unknown
  readonly app?: { readonly get?: (setting: string) => unknown; readonly settings?: object }
}

/** Address of every client without an IP address. They share one budget. */
const UNKNOWN = 'unknown'

/**
 * The client's network, the unit of limits by IP address: an IPv4 address or the /56 of an IPv6 address, as
 * {@link networkOf} has it; `unknown` where the request has no IP address. Outside Express it is the socket's.
 *
 * Warns once (`TOLLGATE_TRUST_PROXY`) of each mistake that makes the address wrong.
 *
 * @example '203.0.113.9', '2001:db8:1:200::/56', 'unknown'
 */
export function clientNetwork(req: ClientRequest): string {
  const trust = req.app?.get?.('trust proxy')
  const address = req.ip ?? req.socket?.remoteAddress
  const network = networkOf(address)
  if (network !== undefined) warnOfTrust(req, trust)
  else if (req.socket?.destroyed !== true) warnOfAddress(address, trust) // a client that has left has no address any more
  return network ?? UNKNOWN
}

/** A port, and what a proxy may put around an address that has one: `203.0.113.9:50001`, `[2001:db8::1]:50001`. */
const BRACKETS = /^\[([^\]]*)\](?::\d*)?$/
const PORT = /:\d{0,5}$/

/**
 * The network that stands for an address: an IPv4 address itself, in every IPv6 spelling too (mapped, RFC 4291 §2.5.5.2;
 * NAT64, RFC 6052 §2.1); of an IPv6 address the /56, since one host can have all of that to itself (RFC 6177). Ports,
 * brackets and zone ids are left out.
 *
 * @returns undefined where it is no IP address, such as that of a Unix socket
 */
export function networkOf(address: unknown): string | undefined {
  if (typeof address !== 'string') return undefined
  if (isIPv4(address)) return address
  const text = address.trim()
  const bare = (BRACKETS.exec(text)?.[1] ?? text).replace(/%.*$/s, '')
  return networkOfBare(bare) ?? networkOfBare(bare.replace(PORT, ''))
}

function networkOfBare(address: string): string | undefined {
  if (isIPv4(address)) return address
  if (!isIPv6(address)) return undefined
  const groups = groupsOf(address)
  if (isIPv4Prefix(groups)) return ipv4Of(groups)
  const [a, b, c, d] = groups as [number, number, number, number]
  return `${[a, b, c, d & 0xff00].map((group) => group.toString(16)).join(':')}::/56`
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  const [head = [], tail] = address.split('::').map(groupsIn)
  if (tail === undefined) return head
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

function groupsIn(part: string): number[] {
  if (part === '') return []
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [parseInt(group, 16)]
    const [a, b, c, d] = group.split('.').map(Number) as [number, number, number, number]
    return [a * 256 + b, c * 256 + d]
  })
}

/** `::ffff:0:0/96` and `64:ff9b::/96`. */
const IPV4_PREFIXES = ['0,0,0,0,0,65535', '100,65435,0,0,0,0']

function isIPv4Prefix(groups: readonly number[]): boolean {
  return IPV4_PREFIXES.includes(groups.slice(0, 6).join())
}

function ipv4Of(groups: readonly number[]): string {
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.')
}

/** `req.ip` is the client's address only if Express knows the number of proxies, and they write X-Forwarded-For. */
function warnOfTrust({ headers, app }: ClientRequest, trust: unknown): void {
  if (trust === true) {
    warnOfMistake(
      'forgeable',
      "app.set('trust proxy', true) believes any X-Forwarded-For, so a client may choose its address and with it whose " +
        'processing time it uses; set the number of proxies instead',
    )
  } else if (headers['x-forwarded-for'] !== undefined) {
    if (trust || hasChosenTrust(app)) return
    warnOfMistake(
      'X-Forwarded-For',
      'a request came with X-Forwarded-For while trust proxy is not set: all clients behind the proxy share one ' +
        `processing time; ${app ? "app.set('trust proxy', 1) if there is one proxy" : 'give throttle() a subject'}`,
    )
  } else if (headers.forwarded !== undefined) {
    if (!trust && hasChosenTrust(app)) return
    const both = "let the proxy write X-Forwarded-For, and app.set('trust proxy', 1) if there is one proxy"
    warnOfMistake(
      'Forwarded',
      'a request came with Forwarded and without X-Forwarded-For, which is the one that Express reads: all clients ' +
        `behind the proxy share one processing time; ${app ? both : 'give throttle() a subject'}`,
    )
  }
}

/** Where Express notes that nobody has set `trust proxy`: as it stands, a value of false may also be the app's choice. */
const IS_DEFAULT = '@@symbol:trust_proxy_default'

/** Whether the app has set `trust proxy`, itself or by the app that it is mounted on. */
function hasChosenTrust(app: ClientRequest['app']): boolean {
  let settings: object | null = app?.settings ?? null
  while (settings !== null && !Object.hasOwn(settings, 'trust proxy'))
    settings = Object.getPrototypeOf(settings) as object
  return settings !== null && (settings as Record<string, unknown>)[IS_DEFAULT] === false
}

function warnOfAddress(address: unknown, trust: unknown): void {
  const behindProxy = `app.set('trust proxy', 1) if there is one proxy${trust ? ', since a subnet never matches it' : ''}`
  const remedy =
    address === undefined
      ? `a Unix socket has no address: ${behindProxy}`
      : "let the proxy write the client's IP address into X-Forwarded-For"
  warnOfMistake(
    'no address',
    `the address of a client must be an IP address; received ${shown(address)}. All clients without one share one ` +
      `processing time; ${remedy}`,
  )
}

function warnOfMistake(mistake: string, message: string): void {
  warnOnce('TOLLGATE_TRUST_PROXY', message, `TOLLGATE_TRUST_PROXY: ${mistake}`)
}
