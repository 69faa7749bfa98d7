import { thrown } from '../http/callback'
import type { Clock } from '../http/clock'
import { fetchFailure } from '../http/fetch/fetch-failure'
import { shown } from '../http/options'
import { warn } from '../http/warn-once'
import { tenantIn } from './claims/tenants'
import type { Reason, RefusedBy, Refusal } from './refusal/refusal'
import { SessionProblem } from './session/session'
import { isUrl, knownUrl } from '../http/url'

/** Shortest interval between warnings of one cause. */
const EVERY_MS = 60_000

/**
 * Warns, as `TOLLGATE_ISSUER`, of refusals that clients cannot correct: an issuer that cannot be reached, another
 * issuer's name, another audience. A warning has the issuer, the address, the cause and the remedy. Each cause is
 * reported at most once a minute.
 *
 * @returns function to call with every refusal
 */
export function issuerWarnings(clock: Clock): (refusal: Refusal) => void {
  const warnedAt = new Map<string, number>()
  return ({ refused, about = {}, cause }) => {
    const explain = MESSAGES[refused]
    if (!explain || (IF_CAUSED.has(refused) && cause === undefined && about.claim === undefined)) return
    // Bounded: the text does not depend on what clients send.
    const { remedy } = fetchFailure(cause, 'documents')
    const name = [refused, about.issuer, about.claim, remedy].join(' ')
    if (clock.now() - (warnedAt.get(name) ?? -Infinity) < EVERY_MS) return
    warnedAt.set(name, clock.now())
    warn('TOLLGATE_ISSUER', explain(about, cause))
  }
}

/** Reasons that are a client's fault unless there is a cause. */
const IF_CAUSED: ReadonlySet<Reason> = new Set(['unknown_key', 'session_kind', 'claim_check', 'client'])

const GRAPH = 'it is for Microsoft Graph alone. Let the client ask for a scope of this API: api://<application id>/…'

/** Audiences that no API of one's own should take, and what to do instead. */
const FOR_OTHERS: ReadonlyMap<unknown, string> = new Map([
  [
    'account',
    "nearly all tokens of a Keycloak realm have 'account'. Add an audience mapper, so that aud names this API",
  ],
  ['https://graph.microsoft.com', GRAPH],
  ['00000003-0000-0000-c000-000000000000', GRAPH],
])

const SEE_CAUSE = 'onDenied gets the error as err.cause'

const MESSAGES: { readonly [reason in Reason]?: (about: RefusedBy, cause: unknown) => string } = {
  keys_unavailable: ({ issuer }, cause) =>
    outage(`the keys of the issuer ${shown(issuer)} cannot be loaded`, fetchFailure(cause, 'documents')),

  /** With a cause, the issuer may publish the key, and it is not used. */
  unknown_key: ({ issuer }, cause) => remedied(issuer, cause),

  introspection_unavailable: ({ issuer }, cause) =>
    outage(`the issuer ${shown(issuer)} cannot be asked about tokens`, fetchFailure(cause, 'introspection')),

  verify_unavailable(_about, cause) {
    return `the option verify threw ${thrown(cause)}. Requests get 503 meanwhile. ${SEE_CAUSE}; for an invalid token return undefined`
  },

  tenants_unavailable({ received, issuer = received, claim: option = 'tenants' }, cause) {
    const what = `the option ${option} threw ${thrown(cause)} for a token of the issuer ${shown(issuer)}`
    const unknown = option === 'tenants' ? 'tenant return false' : 'issuer return undefined'
    return `${what}. Requests get 503 meanwhile. ${SEE_CAUSE}; for an unknown ${unknown}`
  },

  session_kind({ issuer }, cause) {
    const what = cause instanceof SessionProblem ? cause.message : `the option session threw ${thrown(cause)}`
    return `${refusedOf(issuer)}, since ${what}. ${SEE_CAUSE}`
  },

  claim_check(about, cause) {
    if (about.claim !== undefined) return otherClaim(about, 'requiredClaims')
    return `${refusedOf(about.issuer)}, since the option checkClaims threw ${thrown(cause)}. ${SEE_CAUSE}`
  },

  client: (about) => otherClaim(about, 'clients'),

  required_claim: ({ issuer, claim }) =>
    `${refusedOf(issuer)}, since it has no claim ${claim}. If it should be let in, have the issuer add the claim, or take ` +
    'it out of requiredClaims',

  issuer({ received, expected }, cause) {
    if (cause !== undefined) return remedied(received, cause)
    if (!isName(received)) {
      return (
        `a token whose iss is ${shown(received)} was refused with 401, since ${shown(expected)} is trusted. If it should be ` +
        'let in: have the issuer set iss to its name, or check such tokens in the option verify'
      )
    }
    const slash = withOtherSlash(received, expected) ? 'they differ by the slash at the end; ' : ''
    const patterns = [expected].flat().filter((one) => typeof one === 'string')
    const [tenant] = patterns.flatMap((pattern) => tenantIn(pattern, String(received)) ?? [])
    const inner = patterns.find((pattern) => isSamePath(pattern, received))
    const keys =
      inner === undefined ? '' : `, and jwksUri if this machine reaches its keys at ${knownUrl(inner).origin}`
    const remedy = tenant === undefined ? `write issuer: ${shown(received)}${keys}` : `add ${shown(tenant)} to tenants`
    return `${refusedOf(received)}, since ${shown(expected)} is trusted. If its tokens should be let in: ${slash}${remedy}`
  },

  audience({ issuer, received, expected }) {
    const of = `${refusedOf(issuer)}, since it is for the audience ${shown(received)}`
    const isOfRealm = String(issuer).includes('/realms/')
    const others = [received].flat().filter((one) => one !== 'account' || isOfRealm)
    const forOthers = others.map((one) => FOR_OTHERS.get(one)).find((one) => one !== undefined)
    if (forOthers !== undefined) return `${of}: ${forOthers}`
    const known = withOtherSlash(received, expected)
    const written = known === undefined ? shown(received) : `['${known}', '${String(received)}']`
    return (
      `${of} and this API is ${shown(expected)}. If it should be let in: ` +
      (![received].flat().every(isName)
        ? 'have the issuer set aud, or name what is checked instead: audience: { checkedBy: … }'
        : `${known === undefined ? '' : 'they differ by the slash at the end; '}write audience: ${written}`)
    )
  },
}

function remedied(issuer: unknown, cause: unknown): string {
  const { why, remedy } = fetchFailure(cause, 'documents')
  return `${refusedOf(issuer)}: ${why}. If its tokens should be let in, ${remedy}`
}

function outage(what: string, { why, remedy }: ReturnType<typeof fetchFailure>): string {
  return `${what}: ${why}. Requests get 503 meanwhile: ${remedy}`
}

function otherClaim({ issuer, claim, expected, received }: RefusedBy, option: string): string {
  return (
    `${refusedOf(issuer)}, since its claim ${claim} is ${shown(received)}, and ${shown(expected)} is accepted. If it should ` +
    `be let in, add it to ${option}, or to the preset's option`
  )
}

function refusedOf(issuer: unknown): string {
  return `a token of the issuer ${shown(issuer)} was refused with 401`
}

/** Whether the option could be written with a claim's value. */
function isName(received: unknown): boolean {
  return typeof received === 'string' && received !== ''
}

/** Whether two issuers differ by their host alone: it has one name for browsers, and one inside a network. */
function isSamePath(pattern: string, received: unknown): boolean {
  if (!isUrl(pattern) || !isUrl(String(received))) return false
  const [ours, theirs] = [knownUrl(pattern), knownUrl(String(received))]
  return ours.pathname.length > 1 && ours.pathname === theirs.pathname && ours.host !== theirs.host
}

/** The expected text that differs from the received one by a slash at the end. */
function withOtherSlash(received: unknown, expected: unknown): string | undefined {
  const bare = (text: unknown) => String(text).replace(/\/$/, '')
  return [expected]
    .flat()
    .find((one): one is string => typeof one === 'string' && one !== received && bare(one) === bare(received))
}
