const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?(\/.*|$)/
const HTTP_HOSTS = /^(localhost|127\.0\.0\.1|\[::1\])$/

/**
 * Why a redirect URI cannot be registered, or undefined if it can. It must be absolute and ASCII, without a fragment (RFC
 * 6749 §3.1.2) or user, and be `https`, `http` on localhost, or an app's own scheme in reverse-domain form (RFC 8252 §7.1).
 */
export function redirectUriFault(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || uri.length > 2_000) return 'must be a string of at most 2,000 characters'
  if (!/^[\x21-\x7e]+$/.test(uri) || /["<>\\^`{|}]/.test(uri)) return 'must be printable ASCII, percent-encoded'
  if (uri.includes('#')) return 'must have no fragment'
  let url: URL
  try {
    url = new URL(uri)
  } catch {
    return 'must be an absolute URI'
  }
  if (url.username !== '' || url.password !== '') return 'must not name a user'
  if (url.protocol === 'https:') return undefined
  if (url.protocol === 'http:') return HTTP_HOSTS.test(url.hostname) ? undefined : 'must be https except on localhost'
  return url.protocol.includes('.')
    ? undefined
    : 'must be https, or a scheme with a dot in it, such as com.example.app:'
}

/**
 * Whether the URI equals a registered one byte for byte. Only the port of a loopback address may differ (RFC 9700 §4.1.3,
 * RFC 8252 §7.3). Nothing is normalised: URIs that normalise to the same text may lead to different places.
 */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true
  const given = LOOPBACK.exec(uri)
  if (!given || Number(given[2] ?? 80) > 65_535) return false
  return registered.some((candidate) => {
    const known = LOOPBACK.exec(candidate)
    return known !== null && known[1] === given[1] && known[3] === given[3]
  })
}

/** The redirect URI with parameters appended to its query, percent-encoded. */
export function withParams(uri: string, params: Readonly<Record<string, string | undefined>>): string {
  const query = Object.entries(params)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&')
  if (!uri.includes('?')) return `${uri}?${query}`
  return /[?&]$/.test(uri) ? uri + query : `${uri}&${query}`
}

/** The URI as a Content-Security-Policy source: its origin, or its scheme if a policy cannot express the origin. */
export function cspSource(uri: string): string {
  const url = new URL(uri)
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:'
  return isWeb && !url.hostname.startsWith('[') ? url.origin : url.protocol
}
