import { domainToUnicode } from 'node:url'
import { isInnerHost, isLoopbackHost } from './addresses'
import { isUrl, knownUrl } from '../../http/url'

const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|(?:[a-z0-9_-]+\.)*localhost)(?::(\d{1,5}))?(\/\S*)?$/
/** Names, IPv4 and IPv6 addresses. The URL standard takes `;` and `,` as well, which end a source in a policy. */
const HOST = /^([a-z0-9_.-]+|\[[0-9a-f:]+\])$/
/** Schemes that browsers, mail programs or systems act on: no app can own them. */
const TAKEN_SCHEMES = new Set(
  (
    'about blob chrome content data devtools dns feed file filesystem ftp ftps geo gopher http intent irc jar javascript ' +
    'ldap ldaps magnet mailto mms news nfs nntp rtsp sftp sip sips sms smb ssh tel telnet urn vbscript view-source ws wss xmpp'
  ).split(' '),
)

/** Which redirect URIs an app may have beyond `https`, `http` on this machine, and `com.example.app:` (RFC 8252 §7.1). */
export interface UriPolicy {
  /** Also custom schemes without a dot, such as `cursor:`. */
  readonly anyPrivateScheme?: boolean
  /** Also `http` on other hosts: of a local network, or any. */
  readonly http?: 'inner' | 'any'
}

/**
 * The reason why a redirect URI cannot be registered, or undefined if it can. It must be absolute and ASCII, without a
 * fragment (RFC 6749 §3.1.2) or user, and be `https`, `http` on localhost, or an app's own scheme. Its host must stand in
 * it as browsers read it, so that nobody takes one host for another.
 */
export function redirectUriFault(uri: unknown, { anyPrivateScheme, http }: UriPolicy = {}): string | undefined {
  if (typeof uri !== 'string' || uri.length > 2_000) return 'must be a string of at most 2,000 characters'
  if (!/^[\x21-\x7e]+$/.test(uri) || /["<>\\^`{|}]/.test(uri)) return 'must be printable ASCII, percent-encoded'
  if (uri.includes('#')) return 'must have no fragment'
  if (!isUrl(uri)) return 'must be an absolute URI'
  const url = knownUrl(uri)
  if (url.username !== '' || url.password !== '') return 'must not name a user'
  if (isWeb(url)) {
    const [, written] = /^https?:\/\/([^/?]*?)(?::\d*)?(?:[/?]|$)/i.exec(uri) ?? []
    if (written === undefined || written === '') return 'must have two slashes and a host after its scheme'
    if (!HOST.test(url.hostname)) return 'must name a host by letters, digits, dots and dashes'
    if (written.toLowerCase() !== url.hostname) return `must name its host as browsers do: ${url.hostname}`
    if (isMixed(url.hostname)) return 'must not mix the scripts of look-alike letters in its host'
  }
  if (url.protocol === 'https:') return undefined
  if (url.protocol === 'http:') {
    const isAllowed = isLoopbackHost(url.hostname) || http === 'any' || (http === 'inner' && isInnerHost(url.hostname))
    return isAllowed ? undefined : 'must be https except on localhost, or with allowHttp: true'
  }
  if (TAKEN_SCHEMES.has(url.protocol.slice(0, -1))) return 'must be https, or a scheme of the app itself'
  if (url.protocol.includes('.') || anyPrivateScheme) return undefined
  return 'must be https, or a scheme with a dot in it, such as com.example.app:'
}

/** Whether a label has Latin letters beside Greek or Cyrillic ones, of which some look the same. */
function isMixed(hostname: string): boolean {
  const labels = domainToUnicode(hostname).split('.')
  return labels.some((label) => /\p{Script=Latin}/u.test(label) && /[\p{Script=Greek}\p{Script=Cyrillic}]/u.test(label))
}

/** How redirect URIs are compared. */
export interface PortPolicy {
  /** Whether the port of `localhost` may differ as that of a loopback address does. */
  readonly anyLocalhostPort: boolean
}

/**
 * Whether the URI equals a registered one byte for byte. Only the port of a loopback address may differ (RFC 9700 §4.1.3,
 * RFC 8252 §7.3). Nothing is normalised: URIs that normalise to the same text may lead to different places.
 */
export function isRegistered(
  uri: string,
  registered: readonly string[],
  { anyLocalhostPort }: PortPolicy = { anyLocalhostPort: false },
): boolean {
  if (registered.includes(uri)) return true
  const given = LOOPBACK.exec(uri)
  if (!given || Number(given[2] ?? 80) > 65_535 || (isLocalhost(given[1]) && !anyLocalhostPort)) return false
  return registered.some((candidate) => {
    const known = LOOPBACK.exec(candidate)
    return known !== null && known[1] === given[1] && known[3] === given[3]
  })
}

/** Whether the URI leads to a program on the user's device: an address of its own, `localhost`, or a custom scheme. */
export function isOnDevice(uri: string): boolean {
  return LOOPBACK.test(uri) || !/^https?:/i.test(uri)
}

/**
 * Whether any program on the device may receive what is sent there (RFC 8252 §8.6): a custom scheme, or a loopback
 * address whose port the program chooses. A loopback address registered with its port, or `localhost` as registered,
 * belongs to a web app under development.
 */
export function isNative(uri: string, registered: readonly string[]): boolean {
  const [, host, port] = LOOPBACK.exec(uri) ?? []
  if (host === undefined) return isOnDevice(uri)
  return !registered.includes(uri) || (!isLocalhost(host) && port === undefined)
}

/** The redirect URI with parameters appended to its query, or as its fragment; percent-encoded. */
export function withParams(
  uri: string,
  params: Readonly<Record<string, string | undefined>>,
  place: 'query' | 'fragment' = 'query',
): string {
  const query = Object.entries(params)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&')
  if (place === 'fragment') return `${uri}#${query}`
  if (!uri.includes('?')) return `${uri}?${query}`
  return /[?&]$/.test(uri) ? uri + query : `${uri}&${query}`
}

/** The host of a redirect URI, `localhost:3334`, or its scheme if it is custom: what an app cannot choose freely. */
export function hostOf(uri: string): string {
  const url = knownUrl(uri)
  return isWeb(url) ? url.host : url.protocol
}

/** The URI as a Content-Security-Policy source: its origin, or its scheme if a policy cannot express the origin. */
export function cspSource(uri: string): string {
  const url = knownUrl(uri)
  return isWeb(url) && HOST.test(url.hostname) && !url.hostname.startsWith('[') ? url.origin : url.protocol
}

function isWeb({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'http:'
}

function isLocalhost(host: string | undefined): boolean {
  return host !== undefined && host.endsWith('localhost')
}
