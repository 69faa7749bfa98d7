import { type Clock, nowUs } from '../../http/clock'
import { Account, type AccountTerms } from './account'
import type { Histories } from './price'
import { NO_STRAIN, strainAfter } from './rollover'
import type { Server } from './server'
import { subjectId } from './subject-id'

/**
 * An account in which nothing has moved for so long, or for half a window, is put to rest: sooner where many are active,
 * since each takes a kilobyte, but no sooner than it must, since to wake it takes a tenth of its next request.
 */
const REST_AFTER_US = 30_000_000
const REST_SOON_AFTER_US = 1_000_000
const MANY = 8_192
/** How often some of the accounts are looked at, to put idle ones to rest, and in what time all are. */
const SWEEP_MS = 100
const SWEEP_ROUND_MS = 2_000
const SWEEP_LEAST = 20
/** Networks that newcomers share an account by, once there is no room for more subjects. */
const MOST_NETWORKS = 4_096
const EVERYBODY_ELSE = 'network:*'
/** A generation is a quarter of a window: what is older than six belongs to a window that is over. */
const GENERATIONS = 6
const PER_WINDOW = 4
/** Subjects whose histories, and whose strain, are kept in each of two generations. */
const MOST_KEPT = 10_000

/** What is kept of an account at rest. Few fields, as there may be a million of them. */
interface RestingFigures {
  readonly number: number
  readonly used: number
  /** Only where one of them is not 0, or used time exceeds the limit. */
  readonly more?: MoreFigures
}

interface MoreFigures {
  readonly limit: number
  readonly highestLimit: number
  readonly excused: number
  readonly added: number
  readonly carried: number
  readonly lastSeq: number
  readonly stored: number
}

const NO_MORE: MoreFigures = { limit: 0, highestLimit: 0, excused: 0, added: 0, carried: 0, lastSeq: 0, stored: 0 }

/** Overshoot of a subject at rest, in hundredths of a limit: in the window of this number, and in the next one. */
interface RestingStrain {
  readonly number: number
  readonly strain: number
  readonly next: number
}

/** The accounts of one policy in this process: the active ones, for which something is going on, and those at rest. */
export class Accounts {
  readonly #active = new Map<string, Account>()
  readonly #terms: AccountTerms
  readonly #serverOf: (id: string) => Server
  readonly #generationUs: number
  #generations = [new Map<string, RestingFigures>()]
  #turnedAt = 0
  readonly #histories = new Recent<Histories>()
  readonly #strains = new Recent<RestingStrain>()
  readonly #clock: Clock
  readonly #isIdle: (account: Account, now: number) => boolean
  #sweep: IterableIterator<Account> | undefined
  #isSweeping = false
  #isClosed = false

  /** @param isIdle has the account enter the open window, and says whether nothing is going on */
  constructor(
    terms: AccountTerms,
    serverOf: (id: string) => Server,
    clock: Clock,
    isIdle: (account: Account, now: number) => boolean,
  ) {
    this.#terms = terms
    this.#serverOf = serverOf
    this.#clock = clock
    this.#isIdle = isIdle
    this.#generationUs = Math.ceil(terms.windowUs / PER_WINDOW)
  }

  get active(): ReadonlyMap<string, Account> {
    return this.#active
  }

  /** How many subjects are known. */
  get size(): number {
    return this.#generations.reduce((sum, generation) => sum + generation.size, this.#active.size)
  }

  /**
   * Under whose name a subject is kept: its own where it is known or there is room, else its network's, else one for
   * all. No throttled subject is forgotten for a newcomer.
   *
   * @param most how many subjects are told apart
   */
  keptAs(subject: string, most: number, networkOf: () => string): string {
    if (this.#active.has(subject) || this.size < most || this.#knows(subject)) return subject
    const network = networkOf()
    return this.size < most + MOST_NETWORKS || this.#knows(network) ? network : EVERYBODY_ELSE
  }

  /** Idle accounts are put to rest no longer. */
  close(): void {
    this.#isClosed = true
  }

  #knows(subject: string): boolean {
    return this.#active.has(subject) || this.#generations.some((generation) => generation.has(subject))
  }

  /** The subject's account as it was left: it may be in a window that is over. */
  find(subject: string, now: number): Account {
    return this.#active.get(subject) ?? this.#wake(subject, now)
  }

  #wake(subject: string, now: number): Account {
    const resting = takeFrom(this.#generations, subject)
    const { id, phase } = subjectId(subject, this.#terms.windowUs)
    const time = resting && resting.number * this.#terms.windowUs - phase
    const account = new Account(subject, id, phase, this.#terms, this.#serverOf(id), now, time)
    this.#active.set(subject, account)
    if (!this.#isSweeping) this.#sweepLater()
    account.histories = this.#histories.take(subject)
    const known = this.#strains.take(subject)
    if (resting) {
      const { used, more = NO_MORE } = resting
      const { limit, highestLimit, excused, added, carried, lastSeq, stored } = more
      Object.assign(account, { limitUs: limit, highestLimitUs: highestLimit, carriedUs: carried, lastSeq, stored })
      account.others = { ...account.others, used: carried }
      account.own.restore(used, excused, added)
      account.loggedUs = used + carried
    }
    if (known) account.strain = strainIn(account.number, known)
    return account
  }

  /**
   * The accounts of a server that it may have to be told again: those over their limit first, then the other active
   * ones, then those at rest, which are woken. Undefined for every other one, so that the caller may pause.
   */
  *spenders(server: Server, now: number): Generator<Account | undefined, undefined> {
    const hasSpoken = (account: Account) =>
      account.server === server && (account.lastSeq > 0 || account.own.used(now) !== 0)
    const over = [...this.#active.values()].filter((account) => account.used(now) > account.limitUs)
    const isOver = new Set(over)
    for (const account of over) yield hasSpoken(account) ? account : undefined
    for (const account of [...this.#active.values()]) {
      yield !isOver.has(account) && hasSpoken(account) ? account : undefined
    }
    for (const generation of [...this.#generations]) {
      for (const [subject, { used, more }] of [...generation]) {
        if (used === 0 && more === undefined) continue
        const { id } = subjectId(subject, this.#terms.windowUs)
        yield this.#serverOf(id) === server ? this.find(subject, now) : undefined
      }
    }
  }

  /** A few accounts at a time: a million of them must not stop the process. */
  #sweepLater(): void {
    this.#isSweeping = this.size > 0 && !this.#isClosed
    if (!this.#isSweeping) return
    this.#clock.after(SWEEP_MS, () => {
      if (this.#isClosed) return
      this.#rest(nowUs(this.#clock), SWEEP_LEAST + Math.ceil((this.#active.size * SWEEP_MS) / SWEEP_ROUND_MS))
      this.#sweepLater()
    })
  }

  /**
   * Puts idle accounts to rest, and forgets those of which nothing is left in the open window. Looks at no more than
   * `most`, round and round.
   */
  #rest(now: number, most: number): void {
    this.#turn(now)
    for (let i = 0; i < most; i++) {
      this.#sweep ??= this.#active.values()
      const next = this.#sweep.next()
      if (next.done) return void (this.#sweep = undefined)
      const account = next.value
      const isSoon = this.#active.size > MANY || account.limitUs === 0 // no request came: it was only looked at
      const restAfterUs = Math.min(this.#terms.windowUs / 2, isSoon ? REST_SOON_AFTER_US : REST_AFTER_US)
      if (this.#isIdle(account, now) && now - account.touched >= restAfterUs) this.#putToRest(account, now)
    }
  }

  #putToRest(account: Account, now: number): void {
    const { subject, own, histories, number, limitUs } = account
    this.#active.delete(subject)
    account.isEvicted = true
    if (histories) this.#histories.put(subject, histories)
    const { strain } = account
    const next = strainAfter(account.totals(now), 0)
    if (strain > NO_STRAIN || next > NO_STRAIN) this.#strains.put(subject, { number, strain, next })
    const used = own.used(now)
    if (used === 0 && account.lastSeq === 0 && account.carriedUs === 0) return
    const { carriedUs: carried, lastSeq, stored } = account
    const more = { excused: own.excused(now), added: own.addedUs, carried, lastSeq, stored }
    const hasMore = used > limitUs || Object.values(more).some((figure) => figure !== 0)
    const figures = { number, used: compact(used) }
    const kept = hasMore
      ? { ...figures, more: { ...more, limit: limitUs, highestLimit: account.highestLimitUs } }
      : figures
    ;(this.#generations[0] as Map<string, RestingFigures>).set(subject, kept)
  }

  /** Drops what belongs to a window that is over. */
  #turn(now: number): void {
    const turns = Math.floor((now - this.#turnedAt) / this.#generationUs)
    if (turns <= 0) return
    for (let i = 0; i < Math.min(turns, GENERATIONS); i++) this.#generations.unshift(new Map())
    this.#generations.length = Math.min(this.#generations.length, GENERATIONS)
    this.#turnedAt = now
  }
}

function strainIn(number: number, known: RestingStrain): number {
  const windows = number - known.number
  if (windows === 0) return known.strain
  return strainAfter({ usedUs: 0, addedUs: 0, carriedUs: 0, limitUs: 0, strain: known.next }, windows - 2)
}

/** A bounded table: who does not come again before as many others have is forgotten. */
class Recent<T> {
  #recent = new Map<string, T>()
  #earlier = new Map<string, T>()

  put(subject: string, what: T): void {
    if (this.#recent.size >= MOST_KEPT) {
      this.#earlier = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(subject, what)
  }

  /** What is kept of the subject, and is kept here no longer. */
  take(subject: string): T | undefined {
    return takeFrom([this.#recent, this.#earlier], subject)
  }
}

/** The same number as a small integer where it fits: V8 keeps any other in an object of its own. */
function compact(us: number): number {
  return (us | 0) === us ? us | 0 : us
}

function takeFrom<T>(generations: readonly Map<string, T>[], subject: string): T | undefined {
  for (const generation of generations) {
    const kept = generation.get(subject)
    if (kept === undefined) continue
    generation.delete(subject)
    return kept
  }
  return undefined
}
