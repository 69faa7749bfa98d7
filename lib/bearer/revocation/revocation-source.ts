import type { Session } from '../session/session'

/** Source that knows which tokens are revoked. */
export interface RevocationSource {
  /**
   * State of a session's token. Answers at once and never throws. `unavailable`: the state is unknown; the value is the
   * cause.
   */
  state(session: Session): 'valid' | 'revoked' | { readonly unavailable: unknown }
}
