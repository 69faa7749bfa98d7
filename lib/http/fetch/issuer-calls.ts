import type { Clock } from '../clock'
import { Places } from '../places'

/**
 * Bounds the calls to one issuer, since anybody can cause them with made-up tokens: 24 run at once, 12 of one block of
 * addresses. Others wait up to 100 ms for their turn.
 */
export function issuerCalls(clock: Clock): Places {
  return new Places({ places: 24, leavesRoom: true, mostWaiting: 256, longestWaitMs: 100 }, clock)
}
