const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Whether a value is the URL of something trusted to be what it says: https, or http on this machine or if allowed. */
export function isSecureUrl(value: unknown, allowHttp: boolean): value is string {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  const { protocol, hostname, username, password } = new URL(value)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && (allowHttp || LOOPBACK.has(hostname)))
}
