import type { Cluster, Redis } from 'ioredis'
import { type RecordField, parseField, windowKey } from '../../lib/throttle/redis/record'
import { subjectId } from '../../lib/throttle/budget/subjects'

/** A month: no trial crosses a window's end. */
export const LONG_WINDOW_MS = 2_592_000_000

/** What the servers hold of a user's window that is open now, over all processes: read past the processes. */
export async function sharedTotalMs(
  client: Redis | Cluster,
  user: string,
  window: string,
  windowMs = LONG_WINDOW_MS,
): Promise<number> {
  return chargedMs(await client.hgetallBuffer(openWindowKey(user, window, windowMs)))
}

/** The key of a user's window that is open now. */
export function openWindowKey(user: string, window: string, windowMs = LONG_WINDOW_MS): string {
  const { id } = subjectId(user, windowMs * 1_000)
  return windowKey('tollgate:', id, windowMs * 1_000, window)
}

type Fields = Readonly<Record<string, Buffer>>

/** What a record holds as used: by each process, and by those that were closed. */
export function chargedMs(fields: Fields): number {
  const closed = Number(fields.c?.toString() ?? 0)
  return processFields(fields).reduce((sum, { used }) => sum + used, closed) / 1_000
}

/** What each process holds, and how many requests it runs. */
export function heldBy(fields: Fields): (readonly [held: number, running: number])[] {
  return processFields(fields).map(({ held, running }) => [held, running])
}

/** Other fields are sums over those of the processes. */
function processFields(fields: Fields): RecordField[] {
  return Object.values(fields).flatMap((packed) => parseField(packed) ?? [])
}

export type Total = (user: string) => Promise<number>

/** As `sharedTotalMs`; NaN, which equals nothing, where the server does not answer. */
export function totals(client: Redis | Cluster, window: string): Total {
  return (user) => sharedTotalMs(client, user, window).catch(() => NaN)
}
