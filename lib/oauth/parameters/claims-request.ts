import { isJsonObject } from '../../http/json'
import { OAuthError, invalidRequest } from '../oauth-error'

/** The claims that an app requests one by one (OIDC Core §5.5). */
export interface ClaimsRequest {
  /** Names of claims, of those that this server knows. */
  readonly userinfo: readonly string[]
  readonly idToken: readonly string[]
  /** The only user whom the app accepts. */
  readonly sub?: string | undefined
  /** The strengths of login that the id_token is asked to have; undefined where it need not have `acr`. */
  readonly acrValues?: readonly string[]
  readonly isAcrEssential: boolean
}

/** A request without `claims`. */
export const NO_CLAIMS: ClaimsRequest = { userinfo: [], idToken: [], isAcrEssential: false }

/**
 * Reads the parameter `claims`. Unknown claims are ignored (§5.5). Essential and voluntary claims are treated alike:
 * the response has whatever the directory knows.
 *
 * @param text JSON: `{ "userinfo": { "email": { "essential": true } }, "id_token": { "picture": null } }`
 * @param known the claims that may be asked for
 * @param acr the strength of every login here; undefined where it varies
 * @throws {OAuthError} invalid_request where it is no such object; unmet_authentication_requirements where an `acr` is
 * essential that no login here has (§5.5.1.1)
 */
export function readClaimsRequest(
  text: string | undefined,
  known: readonly string[],
  acr: string | undefined,
): ClaimsRequest {
  if (text === undefined) return NO_CLAIMS
  const claims = parsed(text)
  const [userinfo, idToken] = [memberOf(claims, 'userinfo'), memberOf(claims, 'id_token')]
  const subs = [userinfo, idToken].map(({ sub }) => (isJsonObject(sub) ? sub.value : undefined))
  const [sub, other = sub] = subs.filter((value) => typeof value === 'string')
  if (sub !== other) throw invalidRequest('The parameter claims asks for two users at once.')
  const acrs = acrOf(idToken)
  const isUnmet = acrs.isAcrEssential && acr !== undefined && acrs.acrValues?.length !== 0
  if (isUnmet && !acrs.acrValues?.includes(acr)) throw unmetAcr()
  return {
    userinfo: known.filter((name) => Object.hasOwn(userinfo, name)),
    idToken: known.filter((name) => Object.hasOwn(idToken, name)),
    sub,
    ...acrs,
  }
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value = JSON.parse(text) as unknown
    if (isJsonObject(value)) return value
  } catch {
    // answered below
  }
  throw invalidRequest('The parameter claims must be a JSON object (OIDC Core section 5.5).')
}

function memberOf(claims: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>> {
  const member = Object.hasOwn(claims, name) ? claims[name] : undefined
  if (member === undefined || member === null) return {}
  if (isJsonObject(member)) return member
  throw invalidRequest(`The member ${name} of the parameter claims must be an object.`)
}

function acrOf(idToken: Readonly<Record<string, unknown>>): Pick<ClaimsRequest, 'acrValues' | 'isAcrEssential'> {
  if (!Object.hasOwn(idToken, 'acr')) return { isAcrEssential: false }
  const asked = isJsonObject(idToken.acr) ? idToken.acr : {}
  const wanted: readonly unknown[] = Array.isArray(asked.values) ? asked.values : [asked.value]
  return {
    acrValues: wanted.filter((acr) => typeof acr === 'string'),
    isAcrEssential: asked.essential === true,
  }
}

/** No login here has the strength that is essential to the app (OIDC Core §5.5.1.1). */
export function unmetAcr(): OAuthError {
  return new OAuthError('unmet_authentication_requirements', 'No login here has the acr that is asked for.')
}
