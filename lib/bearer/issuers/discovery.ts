import type { Clock } from '../../http/clock'
import { RemediedProblem, fetchFailure } from '../../http/fetch-failure'
import { type FetchFunction, FetchProblem, fetchJson } from '../../http/fetch-json'
import type { JsonObject } from '../../http/json'
import { shown } from '../../http/options'
import { allowHttpHint, isSecureUrl } from '../../http/secure-url'

/** Members of an issuer's metadata that the check of its tokens needs. */
export interface IssuerMetadata {
  /** The issuer as its tokens name it. */
  readonly issuer: string
  readonly jwksUri: string
  /** Type of all its access tokens, if `access_token_typ_values_supported` states one; our server's metadata do. */
  readonly typ: 'at+jwt' | undefined
}

const TIMEOUT_MS = 5_000
const MAX_BYTES = 256 * 1_024

/**
 * Fetches an issuer's metadata from the addresses of OpenID Connect Discovery §4 and RFC 8414 §3, with the issuer's path
 * before or behind the well-known one. The metadata must name the same issuer (RFC 8414 §3.3); a slash at the end is
 * ignored, because configurations often lose it. If the server fails or does not answer, no further address is tried.
 *
 * @param fetch default: Node's own
 * @throws {Error} if there are no metadata, or those of another issuer
 */
export async function discover(
  issuer: string,
  clock: Clock,
  allowHttp: boolean,
  fetch?: FetchFunction,
): Promise<IssuerMetadata> {
  const base = issuer.replace(/\/$/, '')
  const limits = { clock, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, fetch }
  const problems: string[] = []
  let remedy = 'correct issuer, or give jwksUri'
  for (const url of addressesOf(base)) {
    try {
      const { body } = await fetchJson(url, limits)
      if (isOf(body, base)) return metadataOf(body, issuer, allowHttp)
      const { issuer: other } = body
      problems.push(`${url} ${typeof other === 'string' ? `names another issuer: ${shown(other)}` : 'names no issuer'}`)
      if (typeof other === 'string') remedy = 'set issuer to the name that its metadata say'
    } catch (problem) {
      if (!isElsewhere(problem)) throw problem
      problems.push(problem.message)
      if (problem.status === 401 || problem.status === 403) remedy = fetchFailure(problem, 'documents').remedy
    }
  }
  throw new RemediedProblem(problems.join('; '), remedy)
}

/** Addresses of the metadata, without duplicates: for an issuer without a path there are two. */
function addressesOf(base: string): ReadonlySet<string> {
  const { origin, pathname } = new URL(base)
  const path = pathname.replace(/\/$/, '')
  const [openid, oauth] = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']
  return new Set([base + openid, origin + oauth + path, origin + openid + path, base + oauth])
}

/** Whether the server answered and has no metadata at this address. */
function isElsewhere(problem: unknown): problem is FetchProblem & { readonly status: number } {
  return problem instanceof FetchProblem && problem.status !== undefined && problem.status < 500
}

function isOf({ issuer }: JsonObject, base: string): boolean {
  return typeof issuer === 'string' && issuer.replace(/\/$/, '') === base
}

function metadataOf(body: JsonObject, issuer: string, allowHttp: boolean): IssuerMetadata {
  const { jwks_uri: jwksUri, access_token_typ_values_supported: types } = body
  if (!isSecureUrl(jwksUri, allowHttp)) {
    const remedy = 'give jwksUri, or for opaque tokens introspection'
    throw new RemediedProblem(`the metadata of ${issuer} have no https jwks_uri${allowHttpHint(jwksUri)}`, remedy)
  }
  const typ = Array.isArray(types) && types.length === 1 && types[0] === 'at+jwt' ? 'at+jwt' : undefined
  return { issuer: body.issuer as string, jwksUri, typ }
}
