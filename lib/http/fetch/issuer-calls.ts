import type { Clock } from '../clock'
import { FairQueue } from '../fair-queue'

/**
 * Bounds the calls to one issuer, since anybody can cause them with made-up tokens: 16 run at once, 4 of them for blocks
 * of addresses without a running call. Others wait up to 100 ms for their turn.
 */
export function issuerCalls(clock: Clock): FairQueue {
  return new FairQueue({ slots: 16, reserved: 4, mostWaiting: 256, longestWaitMs: 100 }, clock)
}
