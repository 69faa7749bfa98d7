import type { Clock } from '../../http/clock'
import { RemediedProblem, fetchFailure } from '../../http/fetch/fetch-failure'
import { type FetchFunction, FetchProblem, fetchJson } from '../../http/fetch/fetch-json'
import type { JsonObject } from '../../http/json'
import type { KeySource } from '../keys/key-source'
import { type RemoteKeysOptions, remoteKeys } from '../keys/remote-keys'
import { shown } from '../../http/options'
import { allowHttpHint, isSecureUrl } from '../../http/fetch/secure-url'
import { isUrl, knownUrl } from '../../http/url'

/** Members of an issuer's metadata that the check of its tokens needs. */
export interface IssuerMetadata {
  /** The issuer as its tokens name it. */
  readonly issuer: string
  readonly jwksUri: string
  /** Type of all its access tokens, if `access_token_typ_values_supported` states one; our server's metadata do. */
  readonly typ: 'at+jwt' | undefined
}

const LIMITS = { timeoutMs: 5_000, maxBytes: 256 * 1_024 }
/** Shortest interval between fetches of metadata, which are repeated only after a failure. */
const REDISCOVER_MS = 60_000

/** Keys of an issuer that its metadata lead to. */
export function discovered(issuer: string, allowHttp: boolean, remote: Omit<RemoteKeysOptions, 'locate'>): KeySource {
  const { clock, fetch } = remote
  let metadata: IssuerMetadata | undefined
  let askedAt = -Infinity
  const locate = async (afterFailure: boolean) => {
    if (!metadata || (afterFailure && clock.now() - askedAt >= REDISCOVER_MS)) {
      askedAt = clock.now()
      metadata = await discover(issuer, clock, allowHttp, fetch)
    }
    return metadata.jwksUri
  }
  return {
    ...remoteKeys({ ...remote, locate }),
    get issuer() {
      return metadata?.issuer
    },
    get typ() {
      return metadata?.typ
    },
  }
}

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
  const limits = { ...LIMITS, clock, fetch }
  const problems: string[] = []
  let remedy = 'correct issuer, or give jwksUri'
  for (const url of addressesOf(base)) {
    try {
      const { body } = await fetchJson(url, limits)
      if (isOf(body, base)) return metadataOf(body, issuer, allowHttp)
      const { issuer: other } = body
      problems.push(`${url} ${typeof other === 'string' ? `names another issuer: ${shown(other)}` : 'names no issuer'}`)
      if (typeof other === 'string') remedy = remedyForOther(other, body.jwks_uri, url)
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
  const { origin, pathname } = knownUrl(base)
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

/**
 * What to write where the metadata name another issuer than the one that they were asked from: the issuer has one name
 * for all tenants, or a name by which this machine does not reach it.
 */
function remedyForOther(other: string, jwksUri: unknown, url: string): string {
  if (other.includes('{tenantid}')) {
    return (
      `this address is for all tenants; name those that may come: issuer: '${other.replace('{tenantid}', '{tid}')}', ` +
      "tenants: ['<tenant id>'], or use entra({ tenants }) of express-tollgate/providers"
    )
  }
  if (!isSecureUrl(jwksUri, true)) return 'set issuer to the name that its metadata say'
  const { origin, pathname, search } = knownUrl(jwksUri)
  const isOutside = isUrl(other) && origin === knownUrl(other).origin
  const reached = isOutside ? knownUrl(url).origin + pathname + search : jwksUri
  const http = isSecureUrl(reached, false) ? '' : ', allowHttp: true'
  return (
    `tokens name it, too, so write { issuer: '${other}', jwksUri: '${reached}'${http} }; jwksUri is the address by which ` +
    'this machine reaches the keys'
  )
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
