import { isSpent, placesOf } from '../../../lib/throttle/budget/past'
import { NO_STRAIN, type WindowTotals, debtAfter, keptAfter, strainAfter } from '../../../lib/throttle/budget/past'
import { type Answer, GRACE_US, LEASE_US, type Report, TICK_US } from '../../../lib/throttle/budget/report'
import type { Beat } from '../../../lib/throttle/store/store'

export const NEVER = 2 ** 55
const LEAST_US = GRACE_US + TICK_US
/** A process that misses three heartbeats is counted no more. */
const LIVING_US = 3_000_000

/** A process's field, as FIELD in sync.lua. */
export interface Field {
  seq: number
  used: number
  held: number
  ahead: number
  expires: number
  running: number
  excused: number
  unseen: number
  /** When all that runs should have ended: from then `held` counts as used. 0 where nothing runs. */
  runs: number
}

/** As SUMS in sync.lua. */
export interface Sums {
  readonly used: number
  readonly held: number
  readonly ahead: number
  readonly expires: number
  readonly running: number
  readonly excused: number
  readonly unseen: number
  readonly strain: number
  readonly carried: number
  readonly limit: number
  readonly ends: number
}

/** One subject's record, as its hash in Redis. */
export interface Hash {
  /** The window's number: for the laws only. */
  number: number
  /** When it expires. */
  lives: number
  readonly fields: Map<string, Field>
  sums: Sums
  /** What fields held that had expired, when the store looked or they were written anew: for the laws only. */
  readonly lapsed: { readonly at: number; readonly held: number }[]
}

/** What fields say together; when all that runs should have ended, if they were counted. */
type Others = { -readonly [Name in keyof Omit<Sums, 'strain' | 'carried' | 'limit' | 'ends'>]: number } & {
  runs?: number
}

const NO_SUMS: Sums = {
  ...{ used: 0, held: 0, ahead: 0, expires: NEVER, running: 0, excused: 0, unseen: 0 },
  ...{ strain: 0, carried: 0, limit: 0, ends: 0 },
}
const NO_FIELD: Field = { seq: 0, used: 0, held: 0, ahead: 0, expires: 0, running: 0, excused: 0, unseen: 0, runs: 0 }

/** sync.lua and beat.lua over one server's keys, in TypeScript. Times are µs by the server's clock. */
export class StoreModel {
  hashes = new Map<string, Hash>()
  beats = new Map<string, number>()
  /** Stands for the run id, the number of evicted keys and the canary. */
  token = 0

  hash(id: string, number: number): Hash | undefined {
    const hash = this.hashes.get(id)
    return hash?.number === number ? hash : undefined
  }

  /** A copy of all data, for {@link restore}. */
  snapshot(): unknown {
    return structuredClone([this.hashes, this.beats])
  }

  restore(snapshot: unknown): void {
    ;[this.hashes, this.beats] = structuredClone(snapshot) as [Map<string, Hash>, Map<string, number>]
  }

  beat(process: string, time: number): Beat {
    this.beats.set(process, time)
    let living = 0
    for (const at of this.beats.values()) if (at >= time - LIVING_US) living++
    return { time, living, token: String(this.token) }
  }

  report(process: string, c: Report, time: number): Answer {
    if (time < startOf(c) || time >= c.ends) return { time, status: 'closed', found: 0 }
    let hash = this.hashes.get(c.account.id)
    if (hash && hash.lives <= time) hash = undefined
    const rolls = hash !== undefined && hash.sums.ends !== c.ends
    const found = rolls ? 0 : (hash?.fields.get(process)?.seq ?? 0)
    if (found >= c.seq) return { time, status: 'late', found }
    const isNew = hash === undefined || rolls
    let last = 0
    if (hash === undefined) {
      hash = {
        number: numberOf(c),
        lives: 0,
        fields: new Map(),
        sums: NO_SUMS,
        lapsed: [],
      }
      this.hashes.set(c.account.id, hash)
    } else if (rolls) last = roll(hash, c)
    const mine = hash.fields.get(process) ?? NO_FIELD
    if (mine.held > 0 && mine.runs <= time) hash.lapsed.push({ at: time, held: mine.held })
    const figures = this.#write(hash, process, mine, c, time, isNew, last)
    return { time, status: 'written', found, figures }
  }

  /** The other processes' sums, by their fields. What has expired is written back. */
  #count(hash: Hash, process: string, time: number): Others {
    const o = { used: 0, held: 0, ahead: 0, running: 0, excused: 0, unseen: 0, expires: NEVER, runs: 0 }
    for (const [name, field] of hash.fields) {
      if (name === process) continue
      const isOver = field.expires <= time
      if (isOver || (field.runs > 0 && field.runs <= time)) {
        if (field.held > 0) hash.lapsed.push({ at: time, held: field.held })
        field.used += field.held
        field.held = field.runs = 0
      }
      if (isOver) {
        field.ahead = field.running = 0
        field.expires = NEVER
      }
      o.expires = Math.min(o.expires, field.expires)
      o.runs = Math.max(o.runs, field.runs)
      o.used += field.used
      o.held += field.held
      o.ahead += field.ahead
      o.running += field.running
      o.excused += field.excused
      o.unseen += field.unseen
    }
    return o
  }

  /** The other processes' sums. */
  #others({ sums }: Hash, mine: Field): Others {
    return {
      used: sums.used - mine.used,
      held: Math.max(0, sums.held - mine.held),
      ahead: Math.max(0, sums.ahead - mine.ahead),
      expires: sums.expires,
      running: Math.max(0, sums.running - mine.running),
      excused: Math.max(0, sums.excused - mine.excused),
      unseen: sums.unseen - mine.unseen,
    }
  }

  #write(
    hash: Hash,
    process: string,
    mine: Field,
    c: Report,
    time: number,
    isNew: boolean,
    last: number,
  ): NonNullable<Answer['figures']> {
    const before = isNew ? 0 : hash.sums.used
    const { strain, carried } = leftOver(hash.sums, c)
    let o = this.#others(hash, mine)
    o.used += carried - hash.sums.carried
    let room = this.#room(o, c, strain)
    if ((c.neededUs + c.askedAheadUs > room.left || c.count > room.slots) && o.expires <= time) {
      o = this.#count(hash, process, time)
      o.used += carried
      room = this.#room(o, c, strain)
    }
    const isFirstOut = c.count > 0 && (c.firstNeededUs > room.left || room.slots <= 0)
    if (isFirstOut && c.running === 0 && o.running > 0 && o.runs === undefined) {
      o = this.#count(hash, process, time)
      o.used += carried
    }
    const { granted, count, ahead, places } = this.#grant(o, c, room)
    const held = c.held + granted
    const running = c.running + count + places
    const until = held > 0 || running > 0 ? time + Math.max(c.runsForUs + GRACE_US, LEAST_US) : NEVER
    const expires = ahead > 0 ? Math.max(until, time + LEASE_US) : until
    const runs = running > places ? until : 0
    const { used, excused, unseen, seq } = c
    hash.fields.set(process, { seq, used, held, ahead, expires, running, excused, unseen, runs })
    hash.sums = {
      used: o.used + used,
      held: o.held + held,
      ahead: o.ahead + ahead,
      expires: Math.min(o.expires, expires),
      running: o.running + running,
      excused: o.excused + excused,
      unseen: o.unseen + unseen,
      strain,
      carried,
      limit: Math.max(c.limit, hash.sums.limit),
      ends: c.ends,
    }
    const runsUntil = Math.max(last, expires < NEVER ? expires : 0)
    const most = { ...hash.sums, used: hash.sums.used + hash.sums.held } // what is held may become used unseen
    const { windowUs, carryOvershoot } = c.account.terms
    const lives = c.ends + keptAfter(totalsOf(most), c.ends, windowUs, carryOvershoot, runsUntil)
    if (isNew || lives > c.ends) hash.lives = lives
    return {
      used: o.used,
      held: o.held,
      aheadOfOthers: o.ahead,
      running: o.running,
      excused: o.excused,
      unseen: o.unseen,
      ...{ strain, granted, count, ahead, places, carried, before },
    }
  }

  /** Time and places that are left. */
  #room(o: Others, c: Report, strain: number): { left: number; slots: number } {
    const left = c.limit - o.used - o.held - o.ahead - c.used - c.held
    const places = Math.floor(placesOf({ ...c, limitUs: c.limit }, o.used + c.used, o.unseen + c.unseen, strain))
    return { left, slots: places - o.running - c.running }
  }

  #grant(o: Others, c: Report, { left, slots }: { left: number; slots: number }) {
    const none = { granted: 0, count: 0, ahead: 0, places: 0 }
    if ((c.neededUs <= left && c.count <= slots) || c.count === 0) {
      const places =
        c.askedAheadUs > 0 ? Math.max(0, Math.min(c.askedAheadPlaces, Math.floor((slots - c.count) / 2))) : 0
      const ahead = places > 0 ? Math.max(0, Math.min(c.askedAheadUs, Math.floor((left - c.neededUs) / 2))) : 0
      return { granted: c.neededUs, count: c.count, ahead, places }
    }
    if (c.firstNeededUs <= left && slots > 0) {
      const places = Math.min(c.count, slots) - 1
      const ahead = places > 0 ? Math.min(c.neededUs, left) - c.firstNeededUs : 0
      return { granted: c.firstNeededUs, count: 1, ahead, places }
    }
    const isTooDear = c.firstNeededUs > c.limit - o.used - c.used
    const isAlone = o.running === 0 || (o.runs === 0 && (isTooDear || o.ahead === 0))
    if (c.running === 0 && !isSpent(c.limit, o.used + c.used) && isAlone)
      return { ...none, granted: c.firstNeededUs, count: 1 }
    return none
  }
}

/** The record knows best what earlier windows left, but for what a process had not told when they ended. */
function leftOver({ strain, carried, ends }: Sums, c: Report): { strain: number; carried: number } {
  if (c.past === 'cleared') return { strain: NO_STRAIN, carried: 0 }
  if (c.past !== 'news' && ends !== 0) return { strain, carried }
  return { strain: Math.max(strain, c.strain), carried: Math.max(carried, c.carried) }
}

function totalsOf({ used, unseen, carried, strain, limit }: Sums): WindowTotals {
  return { usedUs: used, unseenUs: unseen, carriedUs: carried, strain, limitUs: limit }
}

/**
 * Closes the record's window and opens the report's: see roll() in sync.lua.
 *
 * @returns when the last of the fields that stay expires
 */
function roll(hash: Hash, c: Report): number {
  const { sums } = hash
  let { used } = sums
  const next = { running: 0, expires: NEVER }
  let last = 0
  for (const [name, field] of [...hash.fields]) {
    if (field.runs <= sums.ends) used += field.held
    else if (field.runs > startOf(c) && startOf(c) >= sums.ends) {
      field.expires = field.runs
      field.used = field.held = field.ahead = field.excused = field.unseen = 0
      next.running += field.running
      next.expires = Math.min(next.expires, field.expires)
      last = Math.max(last, field.expires)
      continue
    }
    hash.fields.delete(name)
  }
  const missed = Math.max(0, Math.floor((startOf(c) - sums.ends) / c.account.terms.windowUs))
  const totals = totalsOf({ ...sums, used })
  const carried = c.account.terms.carryOvershoot ? debtAfter(totals, missed) : 0
  hash.number = numberOf(c)
  hash.lapsed.length = 0
  const { limit } = sums
  hash.sums = { ...NO_SUMS, ...next, used: carried, strain: strainAfter(totals, missed), carried, limit, ends: c.ends }
  return last
}

function startOf({ account, ends }: Report): number {
  return ends - account.terms.windowUs
}

/** The number of the report's window. */
export function numberOf({ account: { phase, terms }, ends }: Report): number {
  return Math.floor((ends + phase) / terms.windowUs) - 1
}
