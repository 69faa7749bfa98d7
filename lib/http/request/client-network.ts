import type { IncomingMessage } from 'node:http'
import { shown } from '../options'
import { warnOnce } from '../warn-once'
import { UNKNOWN_NETWORK, blockOf, networkOf } from './network'

/** What `clientNetwork()` reads of a request: Express sets `ip` and `app`, other hosts do not. */
export type ClientRequest = Pick<IncomingMessage, 'headers'> & {
  readonly socket?: IncomingMessage['socket']
  readonly ip?: unknown
  readonly app?: { readonly get?: (setting: string) => unknown; readonly settings?: object }
}

/**
 * The client's network, the unit of limits by IP address: an IPv4 address or the /56 of an IPv6 address, as
 * {@link networkOf} has it; `unknown` where the request has no IP address, or there is none. Outside Express it is the
 * socket's.
 *
 * Warns once (`TOLLGATE_TRUST_PROXY`) of each mistake that makes the address wrong.
 *
 * @example '203.0.113.9', '2001:db8:1:200::/56', 'unknown'
 */
export function clientNetwork(req: ClientRequest | undefined, ipv6Prefix?: number): string {
  if (req === undefined) return UNKNOWN_NETWORK
  const trust = req.app?.get?.('trust proxy')
  const address = addressOf(req)
  const network = networkOf(address, ipv6Prefix)
  if (network !== undefined) {
    warnOfTrust(req, trust)
    warnOfProxyAddress(req, trust, network)
  } else if (req.socket?.destroyed !== true) warnOfAddress(address, trust) // a client that has left has none
  return network ?? UNKNOWN_NETWORK
}

/** The block that the client's network is in, as {@link blockOf} has it. It warns of nothing: no address pays. */
export function clientBlock(req: ClientRequest): string {
  return blockOf(networkOf(addressOf(req)) ?? UNKNOWN_NETWORK)
}

/** The host that the client asked for, where a trusted proxy says so: `req.host` of Express 5, which 4 has without its port. */
export function forwardedHost({ headers, socket, app }: ClientRequest): string | undefined {
  const trusts = app?.get?.('trust proxy fn') as ((address: unknown, hop: number) => boolean) | undefined
  if (!trusts?.(socket?.remoteAddress, 0)) return undefined
  return (
    String(headers['x-forwarded-host'] ?? '')
      .split(',', 1)[0]
      ?.trim() || undefined
  )
}

function addressOf(req: ClientRequest): unknown {
  return req.ip ?? req.socket?.remoteAddress
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

/** Loopback, private and link-local addresses, and those of carriers and clouds (RFC 1918, 3927, 4193, 4291, 6598). */
const INNER =
  /^(?:10|127)\.|^192\.168\.|^169\.254\.|^172\.(?:1[6-9]|2\d|3[01])\.|^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|^f[cd][0-9a-f]{2}:|^fe[89ab][0-9a-f]:|^(?:0:)+0?:|^::/

function isInner(network: string): boolean {
  return INNER.test(network)
}

function publicNetwork(address: unknown): string | undefined {
  const network = networkOf(address)
  return network !== undefined && isInner(network) ? undefined : network
}

/** Fields in which content networks tell who has connected to them, with the page of each that says so. */
const EDGE_FIELDS = [
  'cf-connecting-ip', // developers.cloudflare.com/fundamentals/reference/http-request-headers/
  'cloudfront-viewer-address', // docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/adding-cloudfront-headers.html
  'fastly-client-ip', // www.fastly.com/documentation/reference/http/http-headers/Fastly-Client-IP/
  'x-azure-socketip', // learn.microsoft.com/azure/frontdoor/front-door-http-headers-protocol; clients choose X-Azure-ClientIP
  'true-client-ip', // techdocs.akamai.com/terraform/docs/origin: the usual name; Cloudflare's page has it, too
]
/** The same of proxies that write no X-Forwarded-For: nginx, Fly, Azure. */
const ADDRESS_FIELDS = ['x-real-ip', ...EDGE_FIELDS, 'fly-client-ip', 'x-client-ip', 'x-azure-clientip']

/** A proxy's address pays, and with it everybody behind: one of the service's own network, or a content network's edge. */
function warnOfProxyAddress({ headers, app }: ClientRequest, trust: unknown, network: string): void {
  const inner = isInner(network)
  const clientIn = (name: string) => publicNetwork(headers[name])
  const field = (inner ? ADDRESS_FIELDS : EDGE_FIELDS).find((name) => (clientIn(name) ?? network) !== network)
  if ((!inner && field === undefined) || trust === true || (!trust && hasChosenTrust(app))) return
  const forwarded = (headers['x-forwarded-for'] as string | undefined)?.split(',').map(publicNetwork) ?? []
  const at = inner ? forwarded.findLastIndex(Boolean) : forwarded.lastIndexOf(clientIn(field as string))
  if (!trust && (!inner || at !== -1)) return // said already: it is not set
  if (!inner && at > forwarded.lastIndexOf(network)) return // a proxy that is trusted connected for the client that pays
  if (at === -1 && field === undefined) return
  const payer = inner ? 'an address of a private network pays' : 'the edge of a content network pays'
  const seen = inner ? 'a public one' : 'another'
  const proxies = forwarded.length - at
  if (at === -1)
    warnOfMistake(
      'another field',
      `${payer}, though ${field} has ${seen}, which Express does not read: all clients behind the proxy share one ` +
        'processing time; let the proxy write X-Forwarded-For, and set trust proxy to the number of proxies',
    )
  else
    warnOfMistake(
      'too few proxies',
      `${payer}, though X-Forwarded-For has ${seen} before it: trust proxy counts too few proxies, and all clients ` +
        `share one processing time; app.set('trust proxy', ${proxies}) if there are ${proxies} proxies`,
    )
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
