import { type RedisProofs, redisProofs } from '../../lib/index'

/** What `redisProofs()` returns, with the method that `requireBearer()` calls, which is not in the public type. */
interface SeenProofs extends RedisProofs {
  note(name: string, untilSec: number, nowSec: number, owner?: string): Promise<'new' | 'replay' | 'full'>
}

export function seenProofs(...args: Parameters<typeof redisProofs>): SeenProofs {
  return redisProofs(...args) as SeenProofs
}
