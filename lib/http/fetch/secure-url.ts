import { optionError } from '../help'
import { shown } from '../options'
import { urlOf } from '../url'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Whether a value is a secure URL: https, or http on this machine, or any http with `allowHttp`. A URL with a user name
 * or a password is not.
 */
export function isSecureUrl(value: unknown, allowHttp: boolean): value is string {
  const url = urlOf(value)
  if (!url) return false
  const { protocol, hostname, username, password } = url
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && (allowHttp || LOOPBACK.has(hostname)))
}

/** @throws {TypeError} naming the option, unless it is a secure URL */
export function checkSecureUrl(option: string, value: unknown, allowHttp: boolean): void {
  if (isSecureUrl(value, allowHttp)) return
  throw optionError(`${option} must be an https URL; received ${shown(value)}${allowHttpHint(value)}`)
}

/** Hint for the error message of an http URL that `allowHttp` would allow; else empty. */
export function allowHttpHint(value: unknown): string {
  return isSecureUrl(value, true) && !isSecureUrl(value, false)
    ? '; for a test network without TLS set allowHttp: true'
    : ''
}
