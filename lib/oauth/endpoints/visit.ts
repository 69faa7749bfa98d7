import type { Request, Response } from 'express'
import type { User } from '../directories/user'
import type { AuthorizationRequest } from '../parameters/authorization-request'
import type { Params } from '../parameters/params'
import type { Login, SessionRecord } from '../records/website-sessions'
import type { Endpoint } from './endpoint'
import type { Interaction } from './interaction'

/** A user's browser on the way from an authorization request to its response. */
export interface Visit {
  readonly req: Request
  readonly res: Response
  readonly interaction: Interaction
  readonly request: AuthorizationRequest
  session: SessionRecord | undefined
  user?: User
}

/** The way through the pages, for those who send a browser onto it. */
export interface SignInFlow {
  readonly endpoints: readonly Endpoint[]
  /** A request whose client and redirect URI are valid. Undefined if an error has been sent to the browser. */
  readonly arrive: (asked: Params, interaction: Interaction, req: Request, res: Response) => Promise<Visit | undefined>
  /** Goes on from the first step that is missing. */
  readonly proceed: (visit: Visit) => Promise<void>
  /** Goes on after a login. @param remember whether the session outlives the browser's window */
  readonly resume: (visit: Visit, login: Login, remember?: boolean) => Promise<void>
}
