import { queryObjects } from 'node:v8'

/** How many objects of a class are in memory after a collection. */
export function kept(type: abstract new (...given: never[]) => unknown): number {
  return queryObjects(type, { format: 'count' })
}

/** Bytes of the heap after a collection. */
export function heapBytes(): number {
  kept(Uncounted)
  return process.memoryUsage().heapUsed
}

/** Looking for its objects, of which there are none, collects all garbage. */
class Uncounted {}
