import type { SyncCommand, SyncReply } from '../../../../lib/throttle/sync/sync-protocol'
import { packFigures, packHeld, packTotals } from '../../../support/window-record'

/** One process's field of a window's hash. */
export interface Field {
  seq: number
  spent: number
  hold: number
  running: number
  slack: number
  /** When it was written, where something is going on: milliseconds from the window's start. */
  at: number | undefined
}

/** What was held by those whose fields were written in one stretch of time. */
export interface Held {
  hold: number
  running: number
  slack: number
  processes: number
}

/** A subject's window as sync.lua keeps it; see there. A command changes it in place. */
export interface HashModel {
  readonly fields: Map<string, Field>
  /** Undefined where the sums are lost. */
  made: number | undefined
  gone: number
  inherited: number
  sum: number
  /** Where the latest write found it exceeded. */
  limit: number | undefined
  stretch: number
  number: number
  now: Held
  before: Held
  /** Processes that were closed, and when. */
  closed: (readonly [process: string, at: number])[]
}

/** What the script does; a mutant does one of it otherwise. */
export interface ScriptRules {
  /** An older command of a process changes nothing. */
  readonly ordered: boolean
  /** A command has no effect after the time it carries. */
  readonly valid: boolean
  /** A closed process's late command has no effect. */
  readonly fenced: boolean
  /** The last command hands the charges over. */
  readonly handedOver: boolean
  /** Which hashes take over what ended processes had charged: those made after the one that it was heard of. */
  readonly healed: 'newer' | 'any'
  /** The sum is taken from all fields where a process's own was lost. */
  readonly summedAnew: boolean
  /** What is held lapses where nothing is heard of its process. */
  readonly lapsing: boolean
  /** What others hold counts. */
  readonly held: boolean
}

export const SCRIPT: ScriptRules = {
  ordered: true,
  valid: true,
  fenced: true,
  handedOver: true,
  healed: 'newer',
  summedAnew: true,
  lapsing: true,
  held: true,
}

const STRETCH_MS = 2_000
const FENCED_MS = 10_000

/** sync.lua in TypeScript: the hash after the command, and the reply. Held to the script by sync-lua.spec.ts. */
export function syncModel(
  hash: HashModel | undefined,
  time: number,
  c: SyncCommand,
  rules: ScriptRules = SCRIPT,
): { hash: HashModel | undefined; reply: SyncReply } {
  if (time < c.starts || time >= c.ends || (time > c.validUntil && rules.valid)) return { hash, reply: { time } }
  const now = Math.floor((time - c.starts) / 1000)
  const mine = hash?.fields.get(c.process)
  if (hash && !mine && rules.fenced && isClosed(hash, c.process)) return { hash, reply: { time } }
  const found = mine ? mine.seq : 0
  if (found >= c.seq && rules.ordered) return { hash, reply: { time } }

  const h = hash ?? emptyHash()
  const wasSpent = mine ? mine.spent : 0
  if (h.made === undefined || (c.stored > 0 && !mine && rules.summedAnew)) {
    if (h.made === undefined) {
      h.made = now
      h.gone = h.inherited = 0
    }
    h.sum = 0
    for (const field of h.fields.values()) h.sum += field.spent
  }
  const isHealed = rules.healed === 'any' || c.incarnation < h.made
  if (isHealed && c.ended > h.inherited) h.inherited = c.ended

  enterStretch(h, Math.max(STRETCH_MS, c.leaseMs), now, rules.lapsing)
  if (mine?.at !== undefined) {
    const number = Math.floor(mine.at / h.stretch)
    if (number === h.number || !rules.lapsing) without(h.now, mine)
    else if (number === h.number - 1) without(h.before, mine)
  }
  const { now: n, before: b } = h
  const othersRunning = n.running + b.running
  const slack = n.slack + b.slack
  const othersHeld = rules.held ? n.hold + b.hold + slack : 0
  const othersSpent = h.sum - wasSpent + h.gone + h.inherited

  const isOpen = othersSpent + c.spent <= c.limit
  let [granted, more, lone] = [0, 0, false]
  if (c.closing) {
    if (rules.handedOver) h.gone += c.spent
    h.sum -= wasSpent
    h.fields.delete(c.process)
    h.closed = h.closed.filter(([, at]) => now - at < FENCED_MS)
    h.closed.unshift([c.process, now])
  } else {
    const left = isOpen ? Math.max(0, c.limit + c.tolerance - othersSpent - othersHeld - c.spent - c.hold) : 0
    granted = c.want > left ? left - (left % c.unit) : c.want
    lone = isOpen && c.want > 0 && granted < c.unit && c.running + othersRunning === 0
    if (lone) granted = 0
    let ahead = Math.min(c.slice, Math.floor((left - granted) / (2 * (1 + n.processes + b.processes))))
    if (c.unit > 0) ahead -= ahead % c.unit
    granted = Math.max(granted + ahead, c.keep)
    more = Math.max(0, left - granted) + slack
    h.sum += c.spent - wasSpent
    write(h, c, mine, lone ? granted + c.unit : granted, now)
  }
  h.limit = isOpen ? undefined : c.limit
  const { made, gone, inherited } = h
  const ended = gone + inherited
  return {
    hash: h,
    reply: {
      time,
      written: { othersSpent, othersRunning, othersHeld, granted, more, lone, found, incarnation: made, ended },
    },
  }
}

function emptyHash(): HashModel {
  return {
    fields: new Map<string, Field>(),
    ...{ made: undefined, gone: 0, inherited: 0, sum: 0, limit: undefined },
    ...{ stretch: 0, number: 0, now: nothingHeld(), before: nothingHeld(), closed: [] },
  }
}

function nothingHeld(): Held {
  return { hold: 0, running: 0, slack: 0, processes: 0 }
}

function isClosed({ closed }: HashModel, process: string): boolean {
  return closed.some(([name]) => name === process)
}

function write(h: HashModel, c: SyncCommand, mine: Field | undefined, slack: number, now: number): void {
  const running = c.running === 0 && c.want > 0 && slack > 0 ? 1 : c.running
  const isActive = c.hold + running + slack > 0
  let field = mine
  if (field === undefined) {
    field = { seq: 0, spent: 0, hold: 0, running: 0, slack: 0, at: undefined }
    h.fields.set(c.process, field)
  }
  field.seq = c.seq
  field.spent = c.spent
  field.hold = isActive ? c.hold : 0
  field.running = isActive ? running : 0
  field.slack = isActive ? slack : 0
  field.at = isActive ? now : undefined
  if (!isActive) return
  h.now.hold += c.hold
  h.now.running += running
  h.now.slack += slack
  h.now.processes++
}

/** What is held by those who were heard of in this stretch of time, or in the one before. */
function enterStretch(h: HashModel, wanted: number, now: number, lapsing: boolean): void {
  const isEmpty = h.now.processes + h.before.processes === 0
  const stretch = isEmpty ? wanted : Math.max(h.stretch, wanted)
  const number = Math.floor(now / stretch)
  const was = h.stretch < stretch ? number - 1 : h.number
  h.stretch = stretch
  h.number = number
  if (isEmpty) {
    h.now = nothingHeld()
    h.before = nothingHeld()
  } else if (lapsing && was !== number) {
    h.before = was === number - 1 ? h.now : nothingHeld()
    h.now = nothingHeld()
  }
}

function without(held: Held, { hold, running, slack }: Field): void {
  held.hold = Math.max(0, held.hold - hold)
  held.running = Math.max(0, held.running - running)
  held.slack = Math.max(0, held.slack - slack)
  held.processes = Math.max(0, held.processes - 1)
}

/** A copy that later commands leave as it is. */
export function copyHash(hash: HashModel): HashModel {
  const fields = new Map<string, Field>()
  for (const [process, field] of hash.fields) fields.set(process, { ...field })
  return { ...hash, fields, now: { ...hash.now }, before: { ...hash.before }, closed: [...hash.closed] }
}

/** The hash as Redis has it. */
export function renderHash(hash: HashModel): Record<string, Buffer> {
  const { made: incarnation = 0, gone, inherited, sum, limit, stretch, number, now, before, closed } = hash
  const rendered: Record<string, Buffer> = { t: packTotals({ incarnation, gone, inherited, sum, limit }) }
  for (const [process, figures] of hash.fields) rendered[process] = packFigures(figures)
  const each = ({ hold, running, slack, processes }: Held) => [hold, running, slack, processes]
  if (now.processes + before.processes > 0) rendered.h = packHeld(stretch, number, [...each(now), ...each(before)])
  if (closed.length > 0) rendered.x = Buffer.from(closed.map(([process, at]) => `${process}@${at},`).join(''))
  return rendered
}
