import type { Cluster, Redis } from 'ioredis'
import { subjectId } from '../../lib/throttle/window/subject-id'

/** A month: no trial crosses a window's end. */
export const LONG_WINDOW_MS = 2_592_000_000

/** What the servers hold of a user's window that is open now, over all processes: read past the processes. */
export async function sharedTotalMs(
  client: Redis | Cluster,
  user: string,
  window: string,
  windowMs = LONG_WINDOW_MS,
): Promise<number> {
  const { id, phase } = subjectId(user, windowMs * 1_000)
  const number = Math.floor((Date.now() * 1_000 + phase) / (windowMs * 1_000))
  const fields = Object.values(await client.hgetall(`tollgate:{${id}}:${number}:${window}`))
  return fields.reduce((sum, figures) => sum + Number(figures.split(':')[1]), 0) / 1_000
}

export type Total = (user: string) => Promise<number>

/** As `sharedTotalMs`; NaN, which equals nothing, where the server does not answer. */
export function totals(client: Redis | Cluster, window: string): Total {
  return (user) => sharedTotalMs(client, user, window).catch(() => NaN)
}
