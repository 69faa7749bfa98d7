import { PLACES } from '../../../lib/throttle/account/account'
import { GRACE_US, LEASE_US, TICK_US } from '../../../lib/throttle/sync/report'
import type { Answer, Beat, Report } from '../../../lib/throttle/sync/store'

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
  added: number
}

/** As SUMS in sync.lua. */
export interface Sums {
  readonly used: number
  readonly held: number
  readonly ahead: number
  readonly expires: number
  readonly running: number
  readonly excused: number
  readonly added: number
  readonly strain: number
  readonly carried: number
  readonly limit: number
}

/** One subject's window, as its hash in Redis. */
export interface Hash {
  readonly fields: Map<string, Field>
  sums: Sums
  readonly closed: { used: number; excused: number; added: number }
  /** What each closed process has moved: for the laws only. */
  readonly moved: Map<string, number>
  /** What fields held that had expired, when the store looked or they were written anew: for the laws only. */
  readonly lapsed: { readonly at: number; readonly held: number }[]
}

/** What fields say together. */
type Others = { -readonly [Name in keyof Omit<Sums, 'strain' | 'carried' | 'limit'>]: number }

const NO_SUMS: Sums = {
  ...{ used: 0, held: 0, ahead: 0, expires: NEVER, running: 0, excused: 0, added: 0 },
  ...{ strain: 0, carried: 0, limit: 0 },
}
const NO_FIELD: Field = { seq: 0, used: 0, held: 0, ahead: 0, expires: 0, running: 0, excused: 0, added: 0 }

/** sync.lua and beat.lua over one server's keys, in TypeScript. Times are µs by the server's clock. */
export class StoreModel {
  hashes = new Map<string, Hash>()
  beats = new Map<string, number>()
  /** Stands for the run id, the number of evicted keys and the canary. */
  token = 0

  hash(id: string, number: number): Hash | undefined {
    return this.hashes.get(keyOf(id, number))
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
    if (time < c.starts || time >= c.ends) return { time, status: 'closed', found: 0 }
    const key = keyOf(c.id, c.number)
    let hash = this.hashes.get(key)
    const mine = hash?.fields.get(process) ?? NO_FIELD
    const found = mine.seq
    if (found >= c.seq || found < c.stored) return { time, status: 'late', found }
    if (hash === undefined) {
      hash = {
        fields: new Map(),
        sums: NO_SUMS,
        closed: { used: 0, excused: 0, added: 0 },
        moved: new Map(),
        lapsed: [],
      }
      this.hashes.set(key, hash)
    }
    if (mine.held > 0 && mine.expires <= time) hash.lapsed.push({ at: time, held: mine.held })
    const figures = this.#write(hash, process, mine, c, time)
    return { time, status: 'written', found, figures }
  }

  /** The other processes' sums, by their fields. What has expired is written back. */
  #count(hash: Hash, process: string, time: number): Others {
    const { used, excused, added } = hash.closed
    const o = { used, held: 0, ahead: 0, running: 0, excused, added, expires: NEVER }
    for (const [name, field] of hash.fields) {
      if (name === process) continue
      if (field.expires <= time) {
        if (field.held > 0) hash.lapsed.push({ at: time, held: field.held })
        field.used += field.held
        field.held = field.ahead = field.running = 0
        field.expires = NEVER
      } else o.expires = Math.min(o.expires, field.expires)
      o.used += field.used
      o.held += field.held
      o.ahead += field.ahead
      o.running += field.running
      o.excused += field.excused
      o.added += field.added
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
      added: sums.added - mine.added,
    }
  }

  #write(hash: Hash, process: string, mine: Field, c: Report, time: number): NonNullable<Answer['figures']> {
    const before = hash.sums.used
    const strain = Math.max(c.strain, hash.sums.strain)
    const carried = Math.max(c.carried, hash.sums.carried)
    let o = this.#others(hash, mine)
    o.used += carried - hash.sums.carried
    let room = this.#room(o, c, strain)
    if ((c.want + c.wish > room.left || c.count > room.slots) && o.expires <= time) {
      o = this.#count(hash, process, time)
      o.used += carried
      room = this.#room(o, c, strain)
    }
    const { granted, count, ahead, places } = this.#grant(o, c, room)
    const held = c.held + granted
    const running = c.running + count + places
    let expires = NEVER
    if (held > 0 || running > 0) expires = time + Math.max(c.lasts + GRACE_US, LEAST_US, ahead > 0 ? LEASE_US : 0)
    const { used, excused, added, seq } = c
    if (c.closes) {
      hash.closed.used += used
      hash.closed.excused += excused
      hash.closed.added += added
      hash.moved.set(process, (hash.moved.get(process) ?? 0) + used)
      hash.fields.delete(process)
    } else hash.fields.set(process, { seq, used, held, ahead, expires, running, excused, added })
    hash.sums = {
      used: o.used + used,
      held: o.held + held,
      ahead: o.ahead + ahead,
      expires: Math.min(o.expires, expires),
      running: o.running + running,
      excused: o.excused + excused,
      added: o.added + added,
      strain,
      carried,
      limit: c.limit,
    }
    return {
      used: o.used,
      held: o.held,
      aheadOfOthers: o.ahead,
      running: o.running,
      excused: o.excused,
      added: o.added,
      ...{ strain, granted, count, ahead, places, carried, before },
    }
  }

  /** Time and places that are left. */
  #room(o: Others, c: Report, strain: number): { left: number; slots: number } {
    const left = c.limit - o.used - o.held - o.ahead - c.used - c.held
    const places = Math.floor((PLACES * 100 * (c.limit - o.used - c.used)) / (c.limit * strain))
    return { left, slots: places - o.running - c.running }
  }

  #grant(o: Others, c: Report, { left, slots }: { left: number; slots: number }) {
    const none = { granted: 0, count: 0, ahead: 0, places: 0 }
    if ((c.want <= left && c.count <= slots) || c.count === 0) {
      const places = c.wish > 0 ? Math.max(0, Math.min(c.wishPlaces, Math.floor((slots - c.count) / 2))) : 0
      const ahead = places > 0 ? Math.max(0, Math.min(c.wish, Math.floor((left - c.want) / 2))) : 0
      return { granted: c.want, count: c.count, ahead, places }
    }
    if (c.unit <= left && slots > 0) {
      const places = Math.min(c.count, slots) - 1
      const ahead = places > 0 ? Math.min(c.want, left) - c.unit : 0
      return { granted: c.unit, count: 1, ahead, places }
    }
    if (o.running + c.running === 0 && o.used + c.used <= c.limit) return { ...none, granted: c.unit, count: 1 }
    return none
  }
}

function keyOf(id: string, number: number): string {
  return `${id}/${number}`
}
