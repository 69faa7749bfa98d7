import { channel } from 'node:diagnostics_channel'
import type { Request } from 'express'
import type { Refusal, Reason } from './refusal/refusal'
import type { Session } from './session/session'

/** What is published on the diagnostics channel `express-tollgate:bearer` for each request that was looked at. */
export interface BearerEvent {
  readonly request: Request
  /** Whose session was let in; undefined where none was, or none was needed. */
  readonly session: Session | undefined
  /** Why the request was not let in; undefined where it was. */
  readonly reason: Reason | undefined
  /** What lies behind a refusal, such as an issuer's outage. */
  readonly cause: unknown
}

/** Hears of each request that was looked at. */
export const bearerEvents = channel('express-tollgate:bearer')

/** Tells who listens. Node keeps a listener's error from the request. */
export function publish(request: Request, outcome: Session | Refusal | undefined): void {
  const refusal = outcome && 'refused' in outcome ? outcome : undefined
  const session = outcome && !refusal ? (outcome as Session) : undefined
  bearerEvents.publish({ request, session, reason: refusal?.refused, cause: refusal?.cause } satisfies BearerEvent)
}
