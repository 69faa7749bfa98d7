import type { SyncCommand, SyncReply } from '../../../../lib/throttle/sync/sync-protocol'
import { packFigures, packHeld, packTotals } from '../../../support/window-record'

/** One process's field of a window's hash. */
export interface Field {
  readonly seq: number
  readonly spent: number
  readonly hold: number
  readonly running: number
  readonly slack: number
  /** When it was written, where something is going on: milliseconds from the window's start. */
  readonly at: number | undefined
}

/** What was held by those whose fields were written in one stretch of time. */
export interface Held {
  readonly hold: number
  readonly running: number
  readonly slack: number
  readonly processes: number
}

/** A subject's window as sync.lua keeps it; see there. */
export interface HashModel {
  readonly fields: ReadonlyMap<string, Field>
  readonly made: number
  readonly gone: number
  readonly inherited: number
  readonly sum: number
  /** Where the latest write found it exceeded. */
  readonly limit: number | undefined
  readonly stretch: number
  readonly number: number
  readonly now: Held
  readonly before: Held
  /** Processes that were closed, and when. */
  readonly closed: readonly (readonly [process: string, at: number])[]
}

const STRETCH_MS = 2_000
const FENCED_MS = 10_000
const NONE: Held = { hold: 0, running: 0, slack: 0, processes: 0 }

/** sync.lua in TypeScript: the hash after the command, and the reply. Held to the script by sync-lua.spec.ts. */
export function syncModel(
  hash: HashModel | undefined,
  time: number,
  c: SyncCommand,
): { hash: HashModel | undefined; reply: SyncReply } {
  const unwritten = { hash, reply: { time } }
  if (time < c.starts || time >= c.ends || time > c.validUntil) return unwritten
  const now = Math.floor((time - c.starts) / 1000)
  const mine = hash?.fields.get(c.process)
  if (!mine && hash?.closed.some(([process]) => process === c.process)) return unwritten
  const found = mine?.seq ?? 0
  if (found >= c.seq) return unwritten

  const { made = now } = hash ?? {}
  let { gone = 0, inherited = 0, sum = 0 } = hash ?? {}
  if (c.stored > 0 && !mine) sum = [...(hash?.fields.values() ?? [])].reduce((total, { spent }) => total + spent, 0)
  if (c.incarnation < made && c.ended > inherited) inherited = c.ended

  const held = heldNow(hash, Math.max(STRETCH_MS, c.leaseMs), now)
  if (mine?.at !== undefined) {
    const number = Math.floor(mine.at / held.stretch)
    if (number === held.number) held.now = without(held.now, mine)
    else if (number === held.number - 1) held.before = without(held.before, mine)
  }
  const { hold, running: othersRunning, slack, processes } = plus(held.now, held.before)
  const othersSpent = sum - (mine?.spent ?? 0) + gone + inherited
  const othersHeld = hold + slack

  const isOpen = othersSpent + c.spent <= c.limit
  let [granted, more, lone] = [0, 0, false]
  if (c.closing) gone += c.spent
  else {
    const left = isOpen ? Math.max(0, c.limit + c.tolerance - othersSpent - othersHeld - c.spent - c.hold) : 0
    granted = c.want > left ? left - (left % c.unit) : c.want
    lone = isOpen && c.want > 0 && granted < c.unit && c.running + othersRunning === 0
    if (lone) granted = 0
    let ahead = Math.min(c.slice, Math.floor((left - granted) / (2 * (1 + processes))))
    if (c.unit > 0) ahead -= ahead % c.unit
    granted = Math.max(granted + ahead, c.keep)
    more = Math.max(0, left - granted) + slack
  }
  sum += (c.closing ? 0 : c.spent) - (mine?.spent ?? 0)

  const fields = new Map(hash?.fields)
  let closed = hash?.closed ?? []
  if (c.closing) {
    fields.delete(c.process)
    closed = [[c.process, now] as const, ...closed.filter(([, at]) => now - at < FENCED_MS)]
  } else {
    const granting = lone ? granted + c.unit : granted
    const running = c.running === 0 && c.want > 0 && granting > 0 ? 1 : c.running
    const isActive = c.hold + running + granting > 0
    const going = isActive
      ? { hold: c.hold, running, slack: granting, at: now }
      : { hold: 0, running: 0, slack: 0, at: undefined }
    fields.set(c.process, { seq: c.seq, spent: c.spent, ...going })
    if (isActive) held.now = plus(held.now, { hold: c.hold, running, slack: granting, processes: 1 })
  }
  return {
    hash: { fields, made, gone, inherited, sum, limit: isOpen ? undefined : c.limit, ...held, closed },
    reply: {
      time,
      written: {
        ...{ othersSpent, othersRunning, othersHeld, granted, more, lone, found },
        ...{ incarnation: made, ended: gone + inherited },
      },
    },
  }
}

function heldNow(hash: HashModel | undefined, wanted: number, now: number) {
  const isEmpty = hash === undefined || hash.now.processes + hash.before.processes === 0
  const stretch = isEmpty ? wanted : Math.max(hash.stretch, wanted)
  const number = Math.floor(now / stretch)
  const held = { stretch, number, now: NONE, before: NONE }
  if (isEmpty) return held
  const was = hash.stretch < stretch ? number - 1 : hash.number
  if (was === number) return { ...held, now: hash.now, before: hash.before }
  return was === number - 1 ? { ...held, before: hash.now } : held
}

function plus(a: Held, b: Held): Held {
  return {
    hold: a.hold + b.hold,
    running: a.running + b.running,
    slack: a.slack + b.slack,
    processes: a.processes + b.processes,
  }
}

function without(held: Held, { hold, running, slack }: Field): Held {
  return {
    hold: Math.max(0, held.hold - hold),
    running: Math.max(0, held.running - running),
    slack: Math.max(0, held.slack - slack),
    processes: Math.max(0, held.processes - 1),
  }
}

/** The hash as Redis has it. */
export function renderHash(hash: HashModel): Record<string, Buffer> {
  const { made: incarnation, gone, inherited, sum, limit, stretch, number, now, before, closed } = hash
  const rendered: Record<string, Buffer> = { t: packTotals({ incarnation, gone, inherited, sum, limit }) }
  for (const [process, figures] of hash.fields) rendered[process] = packFigures(figures)
  const each = ({ hold, running, slack, processes }: Held) => [hold, running, slack, processes]
  if (now.processes + before.processes > 0) rendered.h = packHeld(stretch, number, [...each(now), ...each(before)])
  if (closed.length > 0) rendered.x = Buffer.from(closed.map(([process, at]) => `${process}@${at},`).join(''))
  return rendered
}
