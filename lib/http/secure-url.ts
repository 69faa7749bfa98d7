const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Whether a value is the URL of a server that can be trusted to be the one it names: https, or http on this machine, or
 * http anywhere where `allowHttp` says so. A URL with a user name or a password is not.
 */
export function isSecureUrl(value: unknown, allowHttp: boolean): value is string {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol, hostname, username, password } = new URL(value)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && (allowHttp || LOOPBACK.has(hostname)))
}

/** What an error adds for an http URL that would be taken with `allowHttp`; else nothing. */
export function allowHttpHint(value: unknown): string {
  return isSecureUrl(value, true) && !isSecureUrl(value, false)
    ? '; for a test network without TLS set allowHttp: true'
    : ''
}
