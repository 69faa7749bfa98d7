import type { Request } from 'express'
import { type DpopCheck, dpopCheck } from '../bearer/dpop/dpop-check'
import type { Dialect } from '../http/answer/dialect'
import { optionError } from '../http/help'
import { shownNames } from '../http/options'
import { ClientAuthentication } from './client-auth/authenticate-client'
import { KeyProofs, recordProofs } from './client-auth/dpop-proof'
import { Cookies } from './cookie'
import type { GrantName, KnownClient } from './directories/client'
import { ClientDocuments } from './clients/client-documents'
import { StrangerDocuments } from './clients/stranger-documents'
import { KnownClients } from './clients/known-clients'
import { isDocumentUrl } from './directories/document-url'
import { findClientRow, knownUsers, readClaims } from './directories/rows'
import type { User } from './directories/user'
import { ending } from './endings'
import { IdentityScopes } from './identity-scopes'
import { Keyring } from './keys/keyring'
import { pageSettings } from './pages/page-options'
import { PageRenderer } from './pages/page-renderer'
import { Codes } from './records/authorizations'
import { Consents } from './records/consents'
import { Grants } from './records/grants'
import { LoginAttempts } from './records/login-attempts'
import { Records } from './records/records'
import { RefreshTokens } from './records/refresh-tokens'
import { RegisteredClients } from './records/registered-clients'
import { RevocationRecords } from './records/revocation-records'
import { WebsiteSessions } from './records/website-sessions'
import { Seal } from './seal'
import type { ServerSettings } from './server-settings'
import { AccessTokens, OWN_CLAIMS } from './tokens/access-tokens'
import { IdTokens } from './tokens/id-tokens'
import { LogoutNotices } from './tokens/logout-notices'
import { knownUrl } from '../http/url'

/** What a small function uses of the server's parts: its signature names them. */
export type Uses<Name extends keyof Parts> = Pick<Parts, Name>

/** All that the endpoints of one dialect are made of. */
export type Parts = SharedParts & ReturnType<typeof dialectParts>
/** The parts that are the same in both dialects. */
export type SharedParts = ReturnType<typeof sharedParts>

/** Clocks differ between machines: a revocation outlives its token by this margin. */
const SKEW_SEC = 300

/** What the endpoints are made of, whatever the dialect. */
export function sharedParts(settings: ServerSettings) {
  const { issuer, clock, accessTokens, refreshTokens: refresh, websiteSession: session, registration } = settings
  const { dpop, log, acr, login } = settings
  const { tokenFrom, requirePushedRequests, loginEvents } = settings
  const tokenMs = (accessTokens.lifetimeSec + SKEW_SEC) * 1_000
  const refreshMs = refresh.lifetimeSec * 1_000
  const grantMostMs = refresh.absoluteLifetimeSec * 1_000
  const grantMs = Math.max(tokenMs, refreshMs + SKEW_SEC * 1_000, session.lifetimeSec * 1_000)
  const records = new Records(settings.store, issuer)
  const keyring = new Keyring(settings.signingKeys, clock, tokenMs)
  const seal = new Seal(issuer, () => keyring.all().map(({ privateKey }) => privateKey))
  const revocations = new RevocationRecords(records, clock, tokenMs, grantMs)
  const cookies = new Cookies(issuer)
  const sessionMs = session.lifetimeSec * 1_000
  const grants = new Grants(records, revocations, clock, grantMs)
  const sessions = new WebsiteSessions(records, revocations, grants, clock, sessionMs, session.idleSec * 1_000)
  const proofs = recordProofs(records)
  const users = knownUsers(settings.users)
  const registered = new RegisteredClients(records, (registration?.lifetimeSec ?? 0) * 1_000)
  const isApp = async (clientId: string) =>
    (await findClientRow(settings.clients, clientId)) !== undefined ||
    (!!registration && (isDocumentUrl(clientId) || (await registered.find(clientId)) !== undefined))
  const consents = new Consents(records, revocations, clock)
  const notices = new LogoutNotices(issuer, settings.clients, grants, keyring, clock)
  const proofRules = { maxProofAgeSec: dpop.maxProofAgeSec, proofs, origin: knownUrl(issuer).origin }
  return {
    issuer,
    clock,
    log,
    acr,
    login,
    loginEvents,
    tokenFrom,
    requirePushedRequests,
    registration,
    records,
    keyring,
    seal,
    revocations,
    cookies,
    sessions,
    /** The strength of every login; undefined where the app's own page says it. */
    everyAcr: login ? undefined : acr,
    /** The active website session of a request's browser. */
    sessionOf: (req: Request) => sessions.find(cookies.read(req.headers.cookie, 'session')),
    audience: accessTokens.audience,
    sessionSec: session.lifetimeSec,
    users,
    consents,
    grants,
    notices,
    end: ending({ consents, notices, registered, revocations, sessions }),
    documents: new StrangerDocuments(registration?.fetch, records, clock),
    registered,
    keyProofs: new KeyProofs(issuer, dpop, seal, proofs, clock),
    dpopCheck: dpopCheck(proofRules, () => clock.date() / 1_000) as DpopCheck,
    codes: new Codes(records, settings.codeLifetimeSec * 1_000, tokenMs),
    accessTokens: new AccessTokens({ issuer, ...accessTokens }, keyring, records, revocations, users, isApp, clock),
    refreshTokens: new RefreshTokens(records, revocations, clock, refreshMs, grantMostMs, refresh.graceSec === 0),
    attempts: new LoginAttempts(records, settings.loginLimits),
  }
}

/** What differs by dialect. */
export function dialectParts(settings: ServerSettings, shared: SharedParts, dialect: Dialect) {
  const { issuer, clock, pages, tokenType, scopes, idTokenScopes, accessTokens, registration } = settings
  const { records, registered } = shared
  const isStandard = dialect === 'standard'
  const hasService = settings.serviceScopes ?? !isStandard
  const identity = new IdentityScopes(hasService, scopes, idTokenScopes)
  const documents = registration && new ClientDocuments(registration, identity, shared.documents)
  const defaultGrants: readonly GrantName[] = ['authorization_code', ...(hasService ? [SERVICE_GRANT] : [])]
  const clients = new KnownClients(settings.clients, documents && { registered, documents }, defaultGrants)
  return {
    identity,
    clients,
    hasService,
    isRealmNeeded: !isStandard,
    isScopeNeeded: isStandard,
    tokenType: tokenType ?? (isStandard ? 'Bearer' : 'family_search'),
    pages: new PageRenderer(pageSettings(pages, knownUrl(issuer).host, dialect)),
    authentication: new ClientAuthentication(issuer, clients, records, clock),
    idTokens: new IdTokens(issuer, accessTokens.lifetimeSec, shared.keyring, identity, clock),
    apiScopes: settings.clients.scopes ?? [],
    claimsOf: (user: User | undefined, client: KnownClient, scope: readonly string[]) =>
      claimsOf(settings, identity, user, client, scope),
  }
}

type UserColumns = (User & Readonly<Record<string, unknown>>) | undefined

/** The grant of the service's own that any app may use there. */
const SERVICE_GRANT: GrantName = 'unauthenticated_session'

/** Claims in access tokens beside the server's: the user's, and those that the app's function adds. */
async function claimsOf(
  { accessTokenClaims }: ServerSettings,
  identity: IdentityScopes,
  user: User | undefined,
  client: KnownClient,
  scope: readonly string[],
): Promise<Record<string, unknown>> {
  const added = (await accessTokenClaims?.(user as UserColumns, client, scope)) ?? {}
  const own = readClaims(added)
  const taken = Object.keys(own ?? {}).find((name) => OWN_CLAIMS.includes(name))
  if (!own || taken !== undefined) {
    throw optionError(
      `accessTokenClaims must return an object of JSON values without ${taken ?? "the server's own claims"}; received ${shownNames(added)}`,
    )
  }
  return { ...(user && identity.accessToken(scope, user)), ...own }
}
