import type { FetchFunction } from '../../http/fetch/fetch-json'
import { optionError } from '../../http/help'
import { isJsonObject } from '../../http/json'
import {
  type OptionValues,
  checkedLater,
  flag,
  functionOption,
  isText,
  option,
  wholeNumber,
} from '../../http/option-table'
import { optionOneOf, shown } from '../../http/options'
import { typeNamed } from '../credentials/jws'
import type { Algorithm } from '../keys/algorithm'
import { type ClaimPath, isClaimPath } from '../session/claim-path'
import type { CheckClaims, Claims, LoginTime, ReadSession } from '../session/session'
import { type ClaimPolicy, TYPES } from './claims'
import { type Tenants, tenantPattern } from './tenants'

/** What is checked in place of `aud`, where an issuer's tokens have none. */
export interface AudienceCheck {
  /**
   * What says that a token is for this API:
   *
   * - `'clients'`: the client that the token was issued to is one of `clients`
   * - `'issuer'`: this issuer, or its set of keys, issues tokens for this API only
   * - `'introspection'`: the endpoint says `active: true` only for tokens that are for this API
   * - `'verify'`: the function `verify` checks whom the token is for
   */
  readonly checkedBy: 'clients' | 'issuer' | 'introspection' | 'verify'
}

/** The audience: one, one of several, what is checked in its place, or one of each of several. */
export type Audience =
  | string
  | readonly string[]
  | AudienceCheck
  | {
      /** Audiences of each of which the token must name one: `['https://api.example.org', ['web', 'mobile']]`. */
      readonly all: readonly Audience[]
    }

/** Which tokens are accepted. */
export interface TokenOptions {
  /**
   * The issuer, as its tokens' `iss` has it; a list where one issuer goes by several names, of which sessions have the
   * first. With a claim's name in braces it stands for all `tenants`: `'https://login.microsoftonline.com/{tid}/v2.0'`.
   * Default: the environment's `ISSUER_BASE_URL`.
   */
  readonly issuer?: string | readonly string[] | undefined
  /** The tenants that the placeholder in `issuer` may stand for: a list, or a function that knows them. */
  readonly tenants?: readonly string[] | ((tenant: string) => boolean | Promise<boolean>) | undefined
  /**
   * Whom the tokens must be for: `aud` is, or holds, one of these. `{ checkedBy }` says what is checked in its place, and
   * `{ all }` asks for one of each: `{ all: ['https://api.example.org', ['web', 'mobile']] }`. Default: the
   * environment's `AUDIENCE`.
   */
  readonly audience?: Audience | undefined
  /** The clients whose tokens are accepted, by `client_id`, `azp`, `cid` or `appid`. Default: all of the issuer's. */
  readonly clients?: readonly string[] | undefined
  /**
   * The algorithms accepted. A key is for the algorithm that its JWK names, else for those here that fit it. Default: RS,
   * PS and ES with 256, 384 and 512, EdDSA, Ed25519 and Ed448; with `secret` HS256 instead, or beside them with `jwksUri`.
   */
  readonly algorithms?: readonly Algorithm[] | undefined
  /** How far the issuer's clock may be off: whole seconds, 0 to 300. Default 5. */
  readonly clockToleranceSec?: number | undefined
  /** How long ago a token may have been issued: whole seconds, 1 to 31,536,000. Default: until it expires. */
  readonly maxTokenAgeSec?: number | undefined
  /**
   * How long fetched keys serve past their life while the issuer does not answer: whole seconds, 0 to 86,400. After
   * that, 503. Default 3,600.
   */
  readonly lastGoodSec?: number | undefined
  /**
   * The type of token, in its header: `'at+jwt'` takes access tokens only (RFC 9068 §4), as this package's own server
   * issues them; where its metadata are discovered, it says so itself. Capital letters and `application/` before it make
   * no difference. Default: `at+jwt`, `JWT` or none.
   */
  readonly typ?: string | undefined
  /** Takes ID tokens as credentials too, for issuers that have nothing else: Google, Firebase. Default false. */
  readonly idTokens?: boolean | undefined
  /**
   * Claims that must be there: `['jti']`; or that must have a value, or one of several:
   * `{ token_use: 'access', typ: ['Bearer', 'DPoP'] }`; or a list of both. Default none beyond those checked anyway.
   */
  readonly requiredClaims?: readonly (string | RequiredValues)[] | RequiredValues | undefined
  /** Takes `exp`, `nbf` and `iat` as decimal text too: `'1800000000'`. Default false. */
  readonly timesAsText?: boolean | undefined
  /**
   * Where the scopes are: in all of these claims. A list names a claim within claims:
   * `['scope', ['realm_access', 'roles']]`. `scope`, `scp` and `scopes` have OAuth scopes, with spaces between. Other
   * claims have roles: a text, a list, or an object with the roles as names. Default `['scope', 'scp']`.
   */
  readonly scopeFrom?: readonly (string | readonly string[])[] | undefined
  /**
   * Where the classes of the login are that `acr` and `requireStepUp()` compare, each a text or a list: `['aal']`,
   * `['acrs', 'amr']`. Default `['acr']`, or what the preset says.
   */
  readonly acrFrom?: readonly (string | readonly string[])[] | undefined
  /**
   * Where the time of the login is that `requireStepUp({ maxAgeSec })` compares: `['amr', 'timestamp']`, in seconds since
   * 1970; `{ minutesBefore: 'fva' }`, in minutes before `iat`. Of a list the latest counts. Default `'auth_time'`, or
   * what the preset says.
   */
  readonly authTimeFrom?:
    | string
    | readonly string[]
    | {
        /** The claim with minutes before `iat`. */
        readonly minutesBefore: string | readonly string[]
      }
    | undefined
  /** Where the name of the login is that `revokeSession()` revokes: `['session_id']`. Default `['sid']`, or what the preset says. */
  readonly sidFrom?: readonly (string | readonly string[])[] | undefined
  /** Refuses tokens that grant no scope at all, with 403. Default false. */
  readonly scopeRequired?: boolean | undefined
  /**
   * Whether a token's claims are acceptable beyond what is checked anyway; answers at once. False: 401 `invalid_token`.
   * An error thrown: the same, with a warning.
   */
  readonly checkClaims?: ((claims: Claims, token: { readonly header: Claims }) => boolean) | undefined
  /**
   * Says whose session a token describes, where the default does not fit; answers at once. What it returns decides,
   * whatever `sub` is. Undefined: 401. An error thrown: the same, with a warning.
   */
  readonly session?: ReadSession | undefined
  /** Fetches metadata, keys and introspection answers, for example through a proxy. Default: Node's `fetch`. */
  readonly fetch?: FetchFunction | undefined
  /** Takes http addresses of other machines too, for a test network. Default false. */
  readonly allowHttp?: boolean | undefined
}

/** Values that claims must have: `{ token_use: 'access' }`. */
export type RequiredValues = Readonly<
  Record<string, string | number | boolean | readonly (string | number | boolean)[]>
>

const isTexts = (value: unknown) => Array.isArray(value) && value.length > 0 && value.every(isText)
const isPaths = (value: unknown) => Array.isArray(value) && value.every(isClaimPath)
const isLoginTime = (value: unknown) => isClaimPath(isJsonObject(value) ? value.minutesBefore : value)

/** The options of {@link TokenOptions}. */
export const TOKEN_TABLE = {
  issuer: checkedLater<string | readonly string[]>(),
  tenants: checkedLater<Tenants>(),
  audience: checkedLater<Audience>(),
  clients: option<readonly string[]>('a list of one client or more', isTexts),
  clockToleranceSec: wholeNumber(0, 300, 5),
  maxTokenAgeSec: wholeNumber(1, 31_536_000),
  typ: option<string>("a type of token, such as 'at+jwt'", isText),
  idTokens: flag(),
  requiredClaims: checkedLater<Exclude<TokenOptions['requiredClaims'], undefined>>(),
  timesAsText: flag(),
  scopeFrom: option<readonly ClaimPath[]>('a list of claims', isPaths),
  acrFrom: option<readonly ClaimPath[]>('a list of claims', isPaths),
  authTimeFrom: option<LoginTime>('a claim, or { minutesBefore } with one', isLoginTime),
  sidFrom: option<readonly ClaimPath[]>('a list of claims', isPaths),
  scopeRequired: flag(),
  checkClaims: functionOption<CheckClaims>(),
  session: functionOption<ReadSession>(),
  fetch: functionOption<FetchFunction>(),
  allowHttp: flag(),
}

/** Values of {@link TOKEN_TABLE}. */
export type TokenValues = OptionValues<typeof TOKEN_TABLE>

/** Defaults of options. */
export interface IssuerDefaults {
  readonly issuer?: string | undefined
  readonly audience?: TokenOptions['audience']
  /** Whether the API publishes metadata as a resource: a client may write its URL with an empty path or with `/`. */
  readonly isResource?: boolean | undefined
}

/**
 * Makes the rules for claims from the options.
 *
 * @param opaque the check that replaces keys, if any
 * @throws {TypeError} naming the option
 */
export function claimPolicy(
  values: TokenValues,
  defaults: IssuerDefaults,
  opaque?: 'introspection' | 'verify',
): ClaimPolicy {
  const { typ, clients } = values
  const issuers = issuerNames(values.issuer ?? defaults.issuer)
  const tenants = tenantPattern(issuers, values.tenants)
  const listed = audiences(values.audience ?? defaults.audience, clients, opaque)
  return {
    ...values, // rules that are options by the same name
    issuers,
    issuer: issuers[0] as string,
    tenants,
    audiences: defaults.isResource ? listed.map((list) => list.flatMap(formsOf)) : listed,
    types: typ === undefined ? TYPES : [typeNamed(typ)],
    ...requiredClaims(values.requiredClaims === undefined ? [] : values.requiredClaims),
    rules: { ...values, issuers: tenants ? [] : issuers },
  }
}

function issuerNames(given: unknown): readonly string[] {
  const names = typeof given === 'string' ? [given] : given
  if (isTexts(names)) return [...(names as readonly string[])]
  throw optionError(
    `issuer is missing: give it as iss of the tokens says it, or set ISSUER_BASE_URL; received ${shown(given)}. One ` +
      "needs both: requireBearer({ issuer: 'https://ident.example.org', audience: 'https://api.example.org' })",
  )
}

/** Lists of audiences, one of each of which is needed; empty if another check replaces this one. */
function audiences(
  given: unknown,
  clients: readonly string[] | undefined,
  opaque: 'introspection' | 'verify' | undefined,
): readonly (readonly string[])[] {
  const list = typeof given === 'string' ? [given] : given
  if (isTexts(list)) return [[...(list as readonly string[])]]
  const { checkedBy, all } = (given ?? {}) as { checkedBy?: unknown; all?: unknown }
  if (Array.isArray(all) && all.length > 0) return all.flatMap((one) => audiences(one, clients, opaque))
  if (Array.isArray(given) || checkedBy === undefined) {
    throw optionError(
      `audience is missing: give aud of the tokens, a text, a list of texts, { all } or { checkedBy }, or set AUDIENCE; received ${shown(given)}`,
    )
  }
  optionOneOf('audience.checkedBy', checkedBy, ['clients', 'issuer', 'introspection', 'verify'])
  if (checkedBy === 'clients' && clients === undefined) {
    throw optionError("audience: { checkedBy: 'clients' } needs clients: the list of those accepted")
  }
  if ((checkedBy === 'introspection' || checkedBy === 'verify') && checkedBy !== opaque) {
    throw optionError(`audience: { checkedBy: '${checkedBy}' } needs the option ${checkedBy}`)
  }
  return []
}

/** Spellings of a resource, of which clients and servers confuse two: with a slash at the end, and without. */
export function formsOf(resource: string): readonly string[] {
  if (!/^https?:\/\/[^?#]+$/.test(resource)) return [resource]
  const bare = resource.replace(/\/$/, '')
  return [bare, `${bare}/`]
}

function requiredClaims(given: unknown): Pick<ClaimPolicy, 'required' | 'requiredValues'> {
  const items: readonly unknown[] = Array.isArray(given) ? given : [given]
  const names = items.filter((one) => typeof one === 'string')
  const objects = Array.isArray(given) ? items.filter((one) => typeof one !== 'string') : items
  const values = objects.flatMap((one) =>
    Object.entries(one ?? {}).map(([name, value]) => [name, [value].flat()] as const),
  )
  const isValue = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value)
  if (objects.every(isNamed) && values.every(([, list]) => list.every(isValue))) {
    return { required: [...names, ...values.map(([name]) => name)], requiredValues: values }
  }
  throw optionError(`requiredClaims must be a list of names, or values by name; received ${shown(given)}`)
}

function isNamed(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length > 0
}

/** Check that two checks make. A promise is passed on, too: it is refused later. */
export function both(first: CheckClaims | undefined, second: CheckClaims | undefined): CheckClaims | undefined {
  if (!first || !second) return first ?? second
  return (claims, token) => {
    const held: unknown = first(claims, token)
    return held === true ? second(claims, token) : (held as boolean)
  }
}
