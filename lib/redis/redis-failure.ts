/** Redis cannot be reached or refuses the connection. The message names server, cause and remedy. */
export class RedisUnavailableError extends Error {
  /**
   * @param server `host:port`
   * @param code such as `ECONNREFUSED`, `WRONGPASS` or `NOPERM`
   */
  constructor(
    readonly server: string,
    readonly code: string,
    what: string,
  ) {
    super(`Redis at ${server} ${what}`)
    this.name = 'RedisUnavailableError'
  }
}

/** Causes and remedies, by the client's code and message. */
const FAILURES: readonly [RegExp, does: string, remedy: string][] = [
  [/ECONNREFUSED/, 'refuses the connection', 'start it, or correct host and port'],
  [/ENOTFOUND|EAI_AGAIN/, 'has an unknown host name', 'correct the host name'],
  [/NOAUTH/, 'asks for a password', 'give it one: redis://name:password@host:port'],
  [/WRONGPASS/, 'refuses the password', 'correct name and password'],
  [/NOT_REDIS/, 'answers, but not as Redis does', 'correct the port; a server with TLS needs rediss://'],
  [/NO_DATABASE/, 'has no such database for this user', "correct the number at the URL's end, or allow +select"],
  [/ERR_SSL|EPROTO/, 'does not speak TLS', 'correct the port; a server without TLS needs redis://'],
  [/CERT|SELF_SIGNED|ALTNAME|UNABLE_TO/, 'has a certificate that is not trusted', 'name its CA in NODE_EXTRA_CA_CERTS'],
  [/ECONNRESET|EPIPE/, 'closed the connection', 'see its log; a server with TLS needs rediss://'],
]
const SILENT = ['does not answer', 'check host, port and firewall'] as const

/**
 * Explains a missing connection. The client's message is dropped, because the failed command may contain the password.
 *
 * @param usesTls whether the client uses TLS: a server without TLS does not answer then
 */
export function failureOf(server: string, err: unknown, usesTls: boolean): RedisUnavailableError {
  const code = codeOf(err)
  const [, does, remedy] = FAILURES.find(([pattern]) => pattern.test(code)) ?? [code, ...SILENT]
  const tls = does !== SILENT[0] ? '' : `; a server with${usesTls ? 'out' : ''} TLS needs redis${usesTls ? '' : 's'}://`
  return new RedisUnavailableError(server, code, `${does} (${code}): ${remedy}${tls}`)
}

function codeOf(err: unknown): string {
  const { code, message = '', command } = (err ?? {}) as Partial<Error & { code: unknown; command: { name: string } }>
  if (typeof code === 'string') return code
  if (command?.name === 'select') return 'NO_DATABASE'
  if (/Unknown RESP type|Protocol error/.test(message)) return 'NOT_REDIS'
  if (/closed|max retries/i.test(message)) return 'ECONNRESET'
  return /\b(E[A-Z]{5,}|NOAUTH|WRONGPASS)\b/.exec(message)?.[1] ?? 'ETIMEDOUT'
}
