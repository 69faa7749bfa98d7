import type { Session } from '../session/session'
import type { NamingRules } from './revocation-list'

/** State of a session's token. `unavailable`: the state is unknown; the value is the cause. */
export type RevocationState = 'valid' | 'revoked' | { readonly unavailable: unknown }

/** Source that knows which tokens are revoked. */
export interface RevocationSource {
  /**
   * State of a session's token, at once or later. If it throws or rejects, the error goes to Express's error handler.
   *
   * @param rules names of the token's issuer, and the claims that name the login
   */
  state(session: Session, rules?: NamingRules): RevocationState | Promise<RevocationState>
}
