/** What a failed fetch is called by those who read logs, and what to do about it. */
const REMEDIES: readonly [RegExp, remedy: string][] = [
  [/ENOTFOUND|EAI_AGAIN/, 'correct the host name, or the DNS of this machine'],
  [/ECONNREFUSED/, 'start the server, or correct the port'],
  [/CERT|UNABLE_TO/, 'name the CA of its certificate in NODE_EXTRA_CA_CERTS'],
  [/EPROTO|ERR_SSL/, 'the server there does not speak TLS: correct the port'],
  [/no answer within|TIMEDOUT|TIMEOUT/, 'check the address, and firewalls and proxies on the way'],
  [/answered 3\d\d/, 'redirects are not followed: give the address that it leads to'],
  [/answered 40[013]/, 'correct the client id and the secret that it is asked with'],
  [/answered 404/, 'correct the address'],
  [/answered (429|5\d\d)/, 'see the log of the server there'],
  [/name another issuer/, 'set issuer to the name that its metadata say'],
]
const OTHERWISE = 'check that this is the right address'

/** Why an issuer's server could not be used, in words of one line: address, cause and remedy. */
export interface FetchFailure {
  /** `https://as.test/keys could not be fetched (ECONNREFUSED)`. */
  readonly why: string
  /** `start the server, or correct the port`. */
  readonly remedy: string
}

/** Explains what {@link fetchJson}, or what reads its answers, threw. */
export function fetchFailure(problem: unknown): FetchFailure {
  const { message } = errorOf(problem)
  const detail = detailOf(problem)
  const why = detail === undefined ? message : `${message} (${detail})`
  return { why, remedy: REMEDIES.find(([pattern]) => pattern.test(why))?.[1] ?? OTHERWISE }
}

/** The innermost cause, by its code or message: fetch() itself says no more than `fetch failed`. */
function detailOf(problem: unknown): string | undefined {
  let innermost = problem
  while (innermost instanceof Error && innermost.cause !== undefined) innermost = innermost.cause
  if (innermost === problem) return undefined
  if (innermost instanceof SyntaxError) return 'not JSON' // its message shows a part of the answer
  const { code, message } = errorOf(innermost)
  return typeof code === 'string' ? code : message
}

function errorOf(problem: unknown): { readonly message: string; readonly code?: unknown } {
  return problem instanceof Error ? problem : { message: 'no error was given' }
}
