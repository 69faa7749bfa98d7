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

  /** A server that answers has refused the command, and would refuse the next one as well. */
  get isReply(): boolean {
    return /^(?:NOPERM|MOVED|OOM|MISCONF|NOREPLICAS)$/.test(this.code)
  }
}

/** Causes and remedies, by the client's code and message. */
const FAILURES: readonly [RegExp, does: string, remedy: string][] = [
  [/ECONNREFUSED/, 'refuses the connection', 'start it, or correct host and port'],
  [/ENOTFOUND|EAI_AGAIN/, 'has an unknown host name', 'correct the host name'],
  [/DENIED/, 'refuses clients of other hosts (protected mode)', 'set a password, or bind it to its private address'],
  [/NOAUTH/, 'asks for a password', 'give it one: redis://name:password@host:port'],
  [/WRONGPASS/, 'refuses the password', 'correct name and password'],
  [/NOT_REDIS/, 'answers, but not as Redis does', 'correct the port; a server with TLS needs rediss://'],
  [/NO_DATABASE/, 'has no such database for this user', "correct the number at the URL's end, or allow +select"],
  [/ERR_SSL|EPROTO/, 'does not speak TLS', 'correct the port; a server without TLS needs redis://'],
  [/MAXCLIENTS/, 'has no connection left for one more client', 'raise its maxclients, or connect fewer clients'],
  [/READONLY/, 'is a replica that only reads', "give the primary's address, or its sentinels"],
  [/MOVED/, 'is a node of a Cluster', 'give a client of the Cluster: new Cluster([{ host, port }])'],
  [/CLUSTERDOWN/, 'is a node of a Cluster that does not serve all keys', 'see its CLUSTER INFO'],
  [/LOADING|MASTERDOWN/, 'loads its data, or has lost its primary', 'wait for it'],
  [/OOM/, 'has no memory left', 'raise its maxmemory, or give the throttle a server of its own'],
  [/MISCONF|NOREPLICAS/, 'takes no writes', 'see its log: it cannot save or replicate its data'],
  [/CERT|SELF_SIGNED|ALTNAME|UNABLE_TO/, 'has a certificate that is not trusted', 'name its CA in NODE_EXTRA_CA_CERTS'],
  // A server that is full or in protected mode closes the connection, often before the client has read why.
  [
    /ECONNRESET|EPIPE/,
    'closed the connection',
    'see its log: maxclients may be reached; protected mode refuses other hosts; a server with TLS needs rediss://',
  ],
]
const SILENT = ['does not answer', 'check host, port and firewall'] as const

/**
 * Explains a missing connection. The client's message is dropped, because the failed command may contain the password. Of a
 * refusal in other words, which proxies and hosted servers have, their beginning is kept.
 *
 * @param usesTls whether the client uses TLS: a server without TLS does not answer then
 */
export function failureOf(server: string, err: unknown, usesTls: boolean): RedisUnavailableError {
  const code = codeOf(err)
  if (code === 'REFUSED') {
    const { message, command } = err as Error & { readonly command?: { readonly name?: string } }
    const [said = ''] = message.slice(0, 100).split(/,? with args/) // the arguments of HELLO and AUTH hold the password
    const isHello = /hello/i.test(said) || (command?.name === 'hello' && /command|protocol/i.test(said))
    const remedy = isHello ? 'if it lacks HELLO, pass a client with protocol: 2' : 'see what it means there'
    return new RedisUnavailableError(server, code, `answers ${JSON.stringify(said)}: ${remedy}`)
  }
  const [, does, remedy] = FAILURES.find(([pattern]) => pattern.test(code)) ?? [code, ...SILENT]
  const tls = does !== SILENT[0] ? '' : `; a server with${usesTls ? 'out' : ''} TLS needs redis${usesTls ? '' : 's'}://`
  return new RedisUnavailableError(server, code, `${does} (${code}): ${remedy}${tls}`)
}

/** Error replies that say that the server itself cannot be used; Redis 6.2 puts those of a script behind a colon. */
const REPLIES =
  /(?:^-?|: -)(DENIED|NOAUTH|WRONGPASS|READONLY|MOVED|CLUSTERDOWN|LOADING|MASTERDOWN|OOM|MISCONF|NOREPLICAS)\b/
const MAX_CLIENTS = /max number of clients/

/** Whether the server turns the client away: it is not to be asked again at once. */
export function isRefusal(err: unknown): boolean {
  return /^(?:MAXCLIENTS|DENIED|READONLY|MOVED|NOAUTH|WRONGPASS)$/.test(codeOf(err))
}

/** Whether an error says no more than that the connection is gone. */
export function isLoss(err: unknown): boolean {
  return /^(?:ECONNRESET|EPIPE|ETIMEDOUT)$/.test(codeOf(err))
}

/** Whether a reply means that no command of this client would do. Others are about one command. */
export function isUnusable(err: Error): boolean {
  return REPLIES.test(err.message) || MAX_CLIENTS.test(err.message)
}

/** Stable code of an error: `ECONNREFUSED`, `READONLY`. */
export function codeOf(err: unknown): string {
  const {
    code,
    name,
    message = '',
    command,
  } = (err ?? {}) as Partial<Error & { code: unknown; command: { name: string } }>
  if (typeof code === 'string') return code
  if (MAX_CLIENTS.test(message)) return 'MAXCLIENTS' // whichever command was answered so
  const [, reply] = REPLIES.exec(message) ?? []
  if (reply !== undefined) return reply
  if (command?.name === 'select') return 'NO_DATABASE'
  if (/Unknown RESP type|Protocol error/.test(message)) return 'NOT_REDIS'
  if (/closed|max retries/i.test(message)) return 'ECONNRESET'
  if (name === 'ReplyError') return 'REFUSED'
  return /\b(E[A-Z]{5,}|NOAUTH|WRONGPASS)\b/.exec(message)?.[1] ?? 'ETIMEDOUT'
}
