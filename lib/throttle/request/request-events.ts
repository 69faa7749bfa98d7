import type { Request } from 'express'
import { type AdmittedMessage, type ChargedMessage, type RefusedMessage, channels } from '../events'
import type { Refusal } from './refusal'
import type { RequestHold } from './window'

export function emitAdmitted(req: Request, { account, priceUs, subject, window }: RequestHold): void {
  if (!channels.admitted.hasSubscribers) return
  const message = {
    req,
    subject,
    window: window.budgets.name,
    holdMs: priceUs / 1_000,
    degraded: account.server.isDown,
  }
  channels.admitted.publish(message satisfies AdmittedMessage)
}

export function emitRefused(
  req: Request,
  { subject, window }: RequestHold,
  status: 429 | 503,
  retryAfterSec: number,
  refusal?: Refusal,
): void {
  if (!channels.refused.hasSubscribers) return
  const { reason = 'outage' as const, figures } = refusal ?? {}
  const about = { req, subject, window: window.budgets.name, dryRun: window.dryRun }
  channels.refused.publish({ ...about, status, reason, figures, retryAfterSec } satisfies RefusedMessage)
}

export function emitCharged(
  req: Request,
  { subject, window }: RequestHold,
  us: number,
  holdUs: number,
  by: ChargedMessage['by'],
): void {
  if (!channels.charged.hasSubscribers) return
  const message = { req, subject, window: window.budgets.name, chargedMs: us / 1_000, holdMs: holdUs / 1_000, by }
  channels.charged.publish(message satisfies ChargedMessage)
}
