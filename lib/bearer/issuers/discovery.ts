import type { Clock } from '../../http/clock'
import { type Fetch, FetchProblem, fetchJson } from '../../http/fetch-json'
import { shown } from '../../http/options'
import { allowHttpHint, isSecureUrl } from '../../http/secure-url'

/** What an issuer's metadata say that the check of its tokens needs. */
export interface IssuerMetadata {
  /** The issuer as its tokens name it. */
  readonly issuer: string
  readonly jwksUri: string
  /** The type that all of its access tokens have, where it says so (`access_token_typ_values_supported`, as ours does). */
  readonly typ: 'at+jwt' | undefined
}

const TIMEOUT_MS = 5_000
const MAX_BYTES = 256 * 1_024

/**
 * Asks an issuer for its metadata: OpenID Connect Discovery §4, and where that is not there RFC 8414 §3. They must name
 * the issuer they were asked of (RFC 8414 §3.3), give or take a slash at its end, which configurations tend to lose.
 *
 * @param fetch default: Node's own
 * @throws {Error} where they cannot be had, or are another's
 */
export async function discover(
  issuer: string,
  clock: Clock,
  allowHttp: boolean,
  fetch?: Fetch,
): Promise<IssuerMetadata> {
  const base = issuer.replace(/\/$/, '')
  const { origin, pathname } = new URL(base)
  const path = pathname === '/' ? '' : pathname
  const limits = { clock, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, fetch }
  const { body } = await fetchJson(`${base}/.well-known/openid-configuration`, limits).catch((problem: unknown) => {
    if (!(problem instanceof FetchProblem) || problem.status !== 404) throw problem
    return fetchJson(`${origin}/.well-known/oauth-authorization-server${path}`, limits)
  })
  if (typeof body.issuer !== 'string' || body.issuer.replace(/\/$/, '') !== base) {
    throw new Error(`the metadata of ${issuer} name another issuer: ${shown(body.issuer)}`)
  }
  if (!isSecureUrl(body.jwks_uri, allowHttp)) {
    throw new Error(`the metadata of ${issuer} have no https jwks_uri${allowHttpHint(body.jwks_uri)}`)
  }
  const { access_token_typ_values_supported: types } = body
  const typ = Array.isArray(types) && types.length === 1 && types[0] === 'at+jwt' ? 'at+jwt' : undefined
  return { issuer: body.issuer, jwksUri: body.jwks_uri, typ }
}
