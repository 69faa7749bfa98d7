import type { Throttle } from '../../lib/index'

/** Resolves when the stores answer: a busy machine takes longer than the second that `ready()` waits by itself. */
export async function ready(...throttles: readonly Throttle[]): Promise<void> {
  await Promise.all(throttles.map((each) => each.ready({ withinMs: 240_000 })))
}
