import type { Clock } from '../clock'
import { FairQueue } from '../fair-queue'

/**
 * Bounds the calls to one issuer, since anybody can cause them with made-up tokens: 24 run at once, 12 of one block of
 * addresses. Others wait up to 100 ms for their turn.
 */
export function issuerCalls(clock: Clock): FairQueue {
  return new FairQueue({ slots: 24, leavesRoom: true, mostWaiting: 256, longestWaitMs: 100 }, clock)
}
