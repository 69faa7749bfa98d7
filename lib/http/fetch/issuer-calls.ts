import type { Clock } from '../clock'
import { Places } from '../places'

/**
 * Bounds the calls to one issuer, since anybody can cause them with made-up tokens: 24 run at once, half of them of
 * one block of addresses. Others wait up to 100 ms for their turn.
 */
export function issuerCalls(clock: Clock, places = 24, longestWaitMs = 100): Places {
  return new Places({ places, leavesRoom: true, mostWaiting: Math.max(256, 8 * places), longestWaitMs }, clock)
}
