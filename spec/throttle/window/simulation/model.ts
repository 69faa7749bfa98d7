import type { SyncCommand, SyncReply } from '../../../../lib/throttle/sync/sync-protocol'

/** One process's field of a window's hash. */
export interface Field {
  seq: number
  spent: number
  hold: number
  running: number
  slack: number
  until: number
  /** Where it was found exceeded. */
  limit?: number
}

/** sync.lua in TypeScript: changes `fields` as the script changes the hash. Held to the script by sync-lua.spec.ts. */
export function syncModel(fields: Map<string, Field>, time: number, process: string, c: SyncCommand): SyncReply {
  if (time < c.start || time >= c.end) return { time }
  const now = Math.floor((time - c.start) / 1000)
  const found = fields.get(process)?.seq ?? 0
  const others = [...fields].filter(([id]) => id !== process).map(([, field]) => field)
  const sum = (figures: Field[], of: (f: Field) => number) => figures.reduce((total, f) => total + of(f), 0)
  const alive = others.filter((f) => f.hold + f.running + f.slack > 0 && now - f.until < 2 * c.leaseMs)
  const othersSpent = sum(others, (f) => f.spent)
  const othersRunning = sum(alive, (f) => f.running)
  const othersHold = sum(others, (f) => f.hold)
  const othersSlack = sum(
    others.filter((f) => now < f.until),
    (f) => f.slack,
  )
  if (found >= c.seq) return { time }

  const open = othersSpent + c.spent <= c.limit
  const left = open ? Math.max(0, c.limit + c.tolerance - othersSpent - othersHold - othersSlack - c.spent - c.hold) : 0
  let granted = c.want > left ? left - (left % c.unit) : c.want
  const lone = open && c.want > 0 && granted < c.unit && c.running + othersRunning === 0
  if (lone) granted = 0
  let ahead = Math.min(c.slice, Math.floor((left - granted) / (2 * (alive.length + 1))))
  if (c.unit > 0) ahead -= ahead % c.unit
  granted = Math.max(granted + ahead, c.keep)
  const running = c.running === 0 && c.want > 0 && (lone || granted > 0) ? 1 : c.running
  const slack = lone ? granted + c.unit : granted
  const figures = { seq: c.seq, spent: c.spent, hold: c.hold, running, slack, until: now + c.leaseMs }
  fields.set(process, open ? figures : { ...figures, limit: c.limit })
  const more = Math.max(0, left - granted) + othersSlack
  return { time, written: { othersSpent, othersRunning, granted, more, lone, found } }
}
