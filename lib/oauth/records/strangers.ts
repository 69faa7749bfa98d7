import type { Request } from 'express'
import { clientNetwork } from '../../http/request/client-network'
import { hashOf } from '../../http/secret'
import { OAuthError } from '../oauth-error'
import type { Records } from './records'

/** Rate limits for requests of strangers that store a record. */
export interface StrangerLimits {
  /** Names the counters: `register`. */
  readonly name: string
  /** Counts apart from others: the app that is named. Those that registered themselves count together. */
  readonly app?: string
  /** For one address; an IPv6 address counts by its /56. Default 600. */
  readonly perAddress?: number
  /** From all addresses. Default ten times as many. */
  readonly inAll?: number
  /** Default a minute. */
  readonly windowMs?: number
  /** The message of a refusal: `Too many apps have been registered.` */
  readonly refusal: string
}

/**
 * Counts a stranger's request that is valid and stores something, over all processes. This bounds the records that strangers
 * can create.
 *
 * @throws {OAuthError} 429 temporarily_unavailable with Retry-After beyond the limits
 */
export async function limitStrangers(records: Records, req: Request, limits: StrangerLimits): Promise<void> {
  const { perAddress = 600, inAll = 10 * perAddress, windowMs = 60_000, refusal } = limits
  const name = limits.app === undefined ? limits.name : `${limits.name}.${hashOf(limits.app)}`
  const address = `${name}.${hashOf(clientNetwork(req))}`
  // An address over its limit does not count towards the total, or it would block all others.
  for (const [id, most] of [[address, perAddress] as const, [`${name}.all`, inAll] as const]) {
    const { total, endsInMs } = await records.count('attempts', id, 1, windowMs)
    if (total <= most) continue
    const headers = { 'Retry-After': String(Math.max(1, Math.ceil(endsInMs / 1_000))) }
    throw new OAuthError('temporarily_unavailable', refusal, 429, headers)
  }
}
