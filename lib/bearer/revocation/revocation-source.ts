import type { Session } from '../session/session'

/** Says whether tokens are revoked. States its clock: the one of `requireBearer()`, or the machine's. */
export interface RevocationSource {
  /**
   * What is known of a session's token now, at once and without waiting; throws nothing. `behind`: it cannot be told,
   * and why.
   */
  state(session: Session): 'valid' | 'revoked' | { readonly behind: unknown }
}
