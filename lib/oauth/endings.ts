import type { Consents } from './records/consents'
import type { GrantOfUser, RevocableToken, RevocationRecords } from './records/revocation-records'
import type { SessionRecord, WebsiteSession, WebsiteSessions } from './records/website-sessions'
import type { RegisteredClients } from './records/registered-clients'
import type { LogoutNotices } from './tokens/logout-notices'

/** What happened, for {@link ending}: a row each of the table in docs/authorization-server.md, What ends when. */
export type Ending =
  /** The user signed out, or another one signed in. `session` is the browser's own; without it an app has said so. */
  | (Pick<WebsiteSession, 'sid' | 'userId'> & { readonly event: 'signed out'; readonly session?: SessionRecord })
  /** The user withdrew the approval of an app. */
  | { readonly event: 'app withdrawn'; readonly userId: string; readonly clientId: string }
  /** `revokeUser()`. */
  | { readonly event: 'user revoked'; readonly userId: string }
  /** The directory does not find the user. The grants count for nothing while that is so. */
  | { readonly event: 'user gone'; readonly session: SessionRecord }
  /** A code or a refresh token was used twice, or the app revoked its refresh token. */
  | ({ readonly event: 'grant revoked' } & GrantOfUser)
  /** The app revoked an access token. */
  | ({ readonly event: 'token revoked' } & RevocableToken)
  /** An app that registered itself was deleted. */
  | { readonly event: 'app deleted'; readonly clientId: string }

/** What ends. */
interface Parts {
  readonly consents: Consents
  readonly notices: LogoutNotices
  readonly registered: RegisteredClients
  readonly revocations: RevocationRecords
  readonly sessions: WebsiteSessions
}

/**
 * Ends what an event ends. Nothing else does. What is written here is read by `RevocationRecords` (`isRevoked()` of a token,
 * `stateOf()` a grant, `isSessionOver()`) and, for a user or an app that is gone, by `AccessTokens.check()`.
 *
 * @throws {Error} if the store is unreachable; the caller may try again
 */
export function ending({ consents, notices, registered, revocations, sessions }: Parts) {
  return async function end(what: Ending): Promise<void> {
    switch (what.event) {
      case 'signed out':
        await revocations.revokeSession(what.sid, what.userId)
        if (what.session) await sessions.end(what.session)
        return notices.send(what.userId, what.sid)
      case 'app withdrawn':
        await revocations.revokeApp(what.userId, what.clientId)
        return consents.remove(what.userId, what.clientId)
      case 'user revoked':
        await revocations.revokeUser(what.userId)
        return notices.send(what.userId)
      case 'user gone':
        return sessions.end(what.session)
      case 'grant revoked':
        return revocations.revokeGrant(what)
      case 'token revoked':
        return revocations.revokeToken(what)
      case 'app deleted':
        return registered.remove(what.clientId)
    }
  }
}
