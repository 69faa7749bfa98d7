import { channel } from 'node:diagnostics_channel'
import type { Request } from 'express'
import type { RefusalFigures } from '../errors'

/** A request that may pass: `express-tollgate:admitted`. */
export interface AdmittedMessage {
  /** The request. */
  readonly req: Request
  /** As `req.throttle.subject`. Personal: keep it out of metric labels. */
  readonly subject: string
  /** The window's name. */
  readonly window: string
  /** Time set aside for it. */
  readonly holdMs: number
  /** The process decided without its store. */
  readonly degraded: boolean
}

/** A request that may not, or would not in a dry run: `express-tollgate:refused`. */
export interface RefusedMessage {
  /** The request. */
  readonly req: Request
  /** As `req.throttle.subject`. Personal: keep it out of metric labels. */
  readonly subject: string
  /** The window's name. */
  readonly window: string
  /** 429: no time left. 503: the store does not answer, and `onOutage` is `closed`; or the process is overloaded. */
  readonly status: 429 | 503
  /**
   * `spent`: the limit is used up. `reserved`: running requests have reserved the rest, for as long as it may wait.
   * `concurrency`: too many of the subject's requests run at once. `queue`: too many wait already. `outage`: the store does
   * not answer, and this process's share is used up; or the throttle was closed while the request waited. `overload`: the process
   * is overloaded, and the subject asks for more than its part.
   */
  readonly reason: 'spent' | 'reserved' | 'concurrency' | 'queue' | 'outage' | 'overload'
  /** What it was decided by; undefined where a 503 has the reason `outage`. */
  readonly figures: RefusalFigures | undefined
  /** When the client may come again: the value of `Retry-After`. */
  readonly retryAfterSec: number
  /** The request was let in all the same, because `dryRun` is true. */
  readonly dryRun: boolean
}

/** Time that was charged, when a request ends or at `charge()`: `express-tollgate:charged`. */
export interface ChargedMessage {
  /** The request. */
  readonly req: Request
  /** As `req.throttle.subject`. Personal: keep it out of metric labels. */
  readonly subject: string
  /** The window's name. */
  readonly window: string
  /** The processing time charged. */
  readonly chargedMs: number
  /** What had been set aside for it and is no more; 0 at `charge()`. */
  readonly holdMs: number
  /** The request took it, or the app charged it. */
  readonly by: 'request' | 'charge'
}

/** A command that the store answered: `express-tollgate:synced`. */
export interface SyncedMessage {
  /** The name of a window in the command. */
  readonly window: string
  /** Time from the command to its answer. */
  readonly latencyMs: number
}

/** Processes decide alone about those whose windows this server keeps: `express-tollgate:degraded`; the end of it: `express-tollgate:recovered`. */
export interface StoreMessage {
  /** The store given to `throttle()`. */
  readonly store: object
  /** Which of its servers, where it is a Cluster: `host:port`. */
  readonly server: string | undefined
  /** What went wrong; on `degraded` only. */
  readonly cause?: unknown
}

/** The process sheds load, or has stopped to: `express-tollgate:overload`, every 100 ms. */
export interface OverloadMessage {
  /** The part of all work asked for that is let in: 0.02 to 1. With 1 nobody is refused. */
  readonly share: number
  /** The event loop's mean delay in the last 100 ms. */
  readonly delayMs: number
  /** Requests refused since the overload began, those of a dry run included. */
  readonly refusedRequests: number
}

/**
 * What the throttle tells `node:diagnostics_channel`. A message is only made where somebody listens.
 *
 * @example subscribe('express-tollgate:refused', (message) => console.log((message as RefusedMessage).window))
 */
export const channels = {
  admitted: channel('express-tollgate:admitted'),
  refused: channel('express-tollgate:refused'),
  charged: channel('express-tollgate:charged'),
  synced: channel('express-tollgate:synced'),
  degraded: channel('express-tollgate:degraded'),
  recovered: channel('express-tollgate:recovered'),
  overload: channel('express-tollgate:overload'),
} as const
