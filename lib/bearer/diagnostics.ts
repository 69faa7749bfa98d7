import { channel } from 'node:diagnostics_channel'
import type { Request } from 'express'
import type { Refusal, Reason } from './refusal/refusal'
import type { Session } from './session/session'

/** Message of the diagnostics channel `express-tollgate:bearer`, one for each checked request or token. */
export interface BearerMessage {
  /** Undefined for `bearer.check()`, outside of a request. */
  readonly req: Request | undefined
  /** Session that was let in; undefined after a refusal, or without a token under `optional: true`. */
  readonly session: Session | undefined
  /** Reason of the refusal; undefined if the request was let in. */
  readonly reason: Reason | undefined
  /** Cause of a refusal, such as an issuer's outage. */
  readonly cause: unknown
}

/** Channel of the results. */
export const bearerEvents = channel('express-tollgate:bearer')

/** Publishes a result. Node keeps a listener's error away from the request. */
export function publish(req: Request | undefined, outcome: Session | Refusal | undefined): void {
  const refusal = outcome && 'refused' in outcome ? outcome : undefined
  const session = outcome && !refusal ? (outcome as Session) : undefined
  bearerEvents.publish({ req, session, reason: refusal?.refused, cause: refusal?.cause } satisfies BearerMessage)
}
