import type { Request } from 'express'
import { clientNetwork } from '../../http/request/client-network'
import { blockOf } from '../../http/request/network'
import { hashOf } from '../../http/secret'
import { OAuthError } from '../oauth-error'
import { ofStranger } from './owners'
import type { Records } from './records'

/** Rate limits for requests of strangers that store a record. */
export interface StrangerLimits {
  /** Names the counters: `register`. */
  readonly name: string
  /** Counts apart from others: the app that is named. Those that registered themselves count together. */
  readonly app?: string
  /** For one address; an IPv6 address counts by its /56. Default 600. */
  readonly perAddress?: number
  /** From all addresses; a quarter of it from one block. Default ten times as many as for one address. */
  readonly inAll?: number
  /** Default a minute. */
  readonly windowMs?: number
  /** The message of a refusal: `Too many apps have been registered.` */
  readonly refusal: string
}

/** The part of the total that one block of addresses may have. */
const BLOCK_SHARE = 1 / 4
/** A block that had less than this part of the total is not refused because of the total. */
const FREE_SHARE = 1 / 100

/**
 * Counts a stranger's request that is valid and stores something, over all processes: for its address, for the block that
 * a provider hands out together (IPv4 /16, IPv6 /32), and in all. A block may have a quarter of the total; one that had
 * less than a hundredth is never refused because of the total, which others have used up. This bounds the records that
 * strangers can create.
 *
 * @throws {OAuthError} 429 temporarily_unavailable with Retry-After beyond the limits
 */
export async function limitStrangers(records: Records, req: Request, limits: StrangerLimits): Promise<void> {
  const { perAddress = 600, inAll = 10 * perAddress, windowMs = 60_000, refusal } = limits
  const name = limits.app === undefined ? limits.name : `${limits.name}.${hashOf(limits.app)}`
  const network = clientNetwork(req)
  const address = hashOf(network)
  const perBlock = Math.max(perAddress, Math.ceil(inAll * BLOCK_SHARE))
  const add = (id: string, by: number) => records.count('attempts', `${name}.${id}`, by, windowMs, ofStranger())
  /** Requests so far, this one included. Who is over a limit does not count towards the next one. */
  const count = async (id: string, most: number) => {
    const { total, endsInMs } = await add(id, 1)
    if (total <= most) return total
    if (id !== address) await add(address, -1) // so that a block has no more counters than it has requests that pass
    const headers = { 'Retry-After': String(Math.max(1, Math.ceil(endsInMs / 1_000))) }
    throw new OAuthError('temporarily_unavailable', refusal, 429, headers)
  }
  await count(address, perAddress)
  const ofBlock = await count(`block.${hashOf(blockOf(network))}`, perBlock)
  await count('all', ofBlock - 1 < inAll * FREE_SHARE ? Infinity : inAll)
}
