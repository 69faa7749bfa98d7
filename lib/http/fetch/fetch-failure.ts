import { FetchProblem } from './fetch-json'

/** Failure of a server in one line: address, cause and remedy. */
export interface FetchFailure {
  /** `https://as.test/keys could not be fetched (ECONNREFUSED)`. */
  readonly why: string
  /** `start the server, or correct the port`. */
  readonly remedy: string
}

/** A failure with a known remedy. */
export class RemediedProblem extends Error {
  constructor(
    message: string,
    readonly remedy: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** Kind of request: public documents (keys, metadata), or introspection of tokens as a client of the server. */
export type Asked = 'documents' | 'introspection'

type Remedies = readonly (readonly [cause: RegExp, remedy: string])[]

const REFUSES_MACHINE =
  'the server or a firewall refuses this machine: allow its IP address, or give fetch, to go by a proxy or to send ' +
  'another User-Agent'
const ADDRESS = 'correct the address'
const REDIRECT = 'redirects are not followed: give the address that it leads to'
const TLS_REFUSED =
  'the server refuses the TLS handshake: give a fetch with a client certificate if it asks for one, or see its log'
const SERVER_FAILS = 'see the log of the server there'

/** Remedies by the code of a failed connection. */
const CONNECTIONS: Remedies = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'correct the host name, or the DNS of this machine'],
  [/^ECONNREFUSED$/, 'start the server, or correct the port'],
  [/^ERR_SSL_.*_ALERT_/, TLS_REFUSED],
  [/ALTNAME|HOSTNAME_MISMATCH/, 'its certificate is for another host: correct the address, or the certificate there'],
  [/CERT_HAS_EXPIRED/, 'its certificate has expired: renew it there, or correct the clock of this machine'],
  [
    /CERT_NOT_YET_VALID/,
    'its certificate is not valid yet: correct the clock of this machine, or the certificate there',
  ],
  [/CERT_(REVOKED|REJECTED)|INVALID_PURPOSE/, 'its certificate is not accepted: replace it there'],
  [/SELF_SIGNED|UNABLE_TO|CERT|INVALID_CA/, 'name the CA of its certificate in NODE_EXTRA_CA_CERTS'],
  [/^EPROTO$|^ERR_SSL/, 'the server there does not speak TLS: correct the port'],
  [/^UND_ERR_ABORTED$/, 'correct the credentials for the proxy, or allow the address there'], // undici's ProxyAgent
  [/no answer within|TIMEDOUT|TIMEOUT|UNREACH$/, 'check the address, and firewalls and proxies on the way'],
]

const OWN_MACHINE = /:\/\/(?:localhost|127\.|\[::1\])/
const IN_CONTAINER =
  '; in a container, localhost is the container itself: give jwksUri, the address of the keys inside its network'

/** Remedies by the status of the response. */
const STATUSES: Readonly<Record<Asked, Remedies>> = {
  documents: [
    [/^3/, REDIRECT],
    [/^40[13]$/, REFUSES_MACHINE],
    [/^(429|5..)$/, SERVER_FAILS],
    [/^4/, ADDRESS],
  ],
  introspection: [
    [/^3/, REDIRECT],
    [/^40[013]$/, 'correct the client id and the secret that it is asked with, or set introspection.clientAuth'],
    [/^(429|5..)$/, SERVER_FAILS],
    [/^4/, ADDRESS],
  ],
}

const OTHERWISE = 'check that this is the right address'

/** Explains an error of {@link fetchJson} or of the code that reads its result. */
export function fetchFailure(problem: unknown, asked: Asked): FetchFailure {
  if (problem instanceof RemediedProblem) return { why: problem.message, remedy: problem.remedy }
  const { message } = errorOf(problem)
  const status = problem instanceof FetchProblem ? problem.status : undefined
  if (status !== undefined) return { why: message, remedy: remedyOf(STATUSES[asked], String(status)) }
  const detail = detailOf(problem)
  if (detail === undefined) return { why: message, remedy: OTHERWISE }
  const isInside = asked === 'documents' && detail === 'ECONNREFUSED' && OWN_MACHINE.test(message)
  return { why: `${message} (${detail})`, remedy: remedyOf(CONNECTIONS, detail) + (isInside ? IN_CONTAINER : '') }
}

function remedyOf(remedies: Remedies, cause: string): string {
  return remedies.find(([pattern]) => pattern.test(cause))?.[1] ?? OTHERWISE
}

/** The innermost cause, by its code or message: fetch() itself says no more than `fetch failed`. */
function detailOf(problem: unknown): string | undefined {
  let innermost = problem
  while (innermost instanceof Error && innermost.cause !== undefined) innermost = innermost.cause
  if (innermost === problem) return undefined
  const { code, message } = errorOf(innermost)
  return typeof code === 'string' ? code : message
}

function errorOf(problem: unknown): { readonly message: string; readonly code?: unknown } {
  return problem instanceof Error ? problem : { message: 'no error was given' }
}
