import { randomBytes } from 'node:crypto'
import type { Clock } from '../../http/clock'
import { storeError } from '../../http/help'
import type { TimeLimit } from '../../http/deadline'
import { shown } from '../../http/options'
import { warnOnce } from '../../http/warn-once'
import type { Account } from '../budget/account'
import { Overload } from '../overload/overload'
import { Refusals, type RefusalsMessage } from '../refusals'
import { Link, type LinkedStore } from './link'
import type { StoreServer, AccountStore } from './store'

/** Deadline of an answer, in milliseconds, unless the store has another. */
const DEADLINE_MS = 70
/** Between a window's name, which is printable, and its terms. */
const SEPARATOR = '\t'

/** A policy whose windows a store keeps. */
export interface StoredPolicy extends Iterable<Account> {
  readonly name: string
  /** In words: `18000 ms in 60000 ms`. */
  readonly terms: string
}

/** A store as all policies over it share it in this process: a {@link Link} to each of its servers. */
export class SharedStore implements LinkedStore {
  static readonly #of = new WeakMap<AccountStore, SharedStore>()

  readonly #links = new Map<StoreServer, Link>()
  readonly #policies = new Set<StoredPolicy>()
  readonly #onOutage = new Set<'local' | 'closed'>()
  /** Names this process in records. */
  readonly #process = randomProcess()
  readonly #joined = new Set<string>()
  readonly refusals: Refusals
  /** The number of the last report. */
  lastSeq = 0
  #isClosed = false

  private constructor(
    readonly store: AccountStore,
    readonly clock: Clock,
  ) {
    this.refusals = new Refusals(clock)
    store.watch({
      ready: (server) => this.#linkTo(server).connected(),
      gone: (server) => {
        const link = this.#links.get(server)
        this.#links.delete(server)
        link?.close()
      },
    })
    this.linkOf('') // it is asked from now on
  }

  /**
   * The same for all throttles over one store.
   *
   * @throws {TypeError} where the store was closed
   */
  static of(store: AccountStore, clock: Clock): SharedStore {
    let shared = this.#of.get(store)
    if (shared !== undefined && shared.#isClosed)
      throw storeError('store: it was closed with the last throttle that used it; give a new one')
    if (shared === undefined) this.#of.set(store, (shared = new SharedStore(store, clock)))
    return shared
  }

  /** Deadline of an answer, in milliseconds: a request that gets none is decided by its process alone. */
  get deadlineMs(): number {
    return this.store.deadlineMs ?? DEADLINE_MS
  }

  /** Notes what a throttle over the store does during an outage, for messages. */
  note(onOutage: 'local' | 'closed'): this {
    this.#onOutage.add(onOutage)
    return this
  }

  /** What requests get during an outage, for messages. */
  get meanwhile(): string {
    if (!this.#onOutage.has('closed')) return "each process applies the limits by itself (onOutage: 'local')"
    if (!this.#onOutage.has('local')) return "requests get 503 (onOutage: 'closed')"
    return 'each process applies the limits by itself, or answers 503, as the onOutage of each throttle says'
  }

  /** Resolves when every server answers. @throws {Error} where one is reported not to, or has not in time, with the warning's message */
  async ready(time: TimeLimit): Promise<void> {
    do await Promise.all([...this.#links.values()].map((link) => link.answers(time)))
    while (!this.#isClosed && this.outages.length > 0)
  }

  /** Its servers that do not answer: the name, undefined for the only one, and since when in µs of the process's clock. */
  get outages(): { readonly server: string | undefined; readonly since: number; readonly cause: string | undefined }[] {
    const down = [...this.#links.values()].filter(({ isDown }) => isDown)
    return down.map(({ name, downSince, cause }) => ({ server: name, since: downSince, cause }))
  }

  /** How many processes live, by the newest heartbeat. */
  get living(): number {
    return Math.max(1, ...[...this.#links.values()].map(({ living }) => living))
  }

  /** The link to the server that keeps the accounts of the subject with this id now. */
  linkOf(id: string): Link {
    return this.#linkTo(this.store.serverOf(id))
  }

  #linkTo(server: StoreServer): Link {
    let link = this.#links.get(server)
    if (link === undefined) {
      this.#links.set(server, (link = new Link(server, this)))
      if (this.#isClosed) link.close()
    }
    return link
  }

  // --- policies

  /**
   * Names this process in the policy's records. A policy that was closed and is opened again gets another name: its
   * accounts begin at 0, and what was used before stands under the first name.
   */
  processName(policy: string): string {
    if (this.#joined.has(policy)) return randomProcess()
    this.#joined.add(policy)
    return this.#process
  }

  join(policy: StoredPolicy): void {
    this.#policies.add(policy)
  }

  /** The last policy that leaves closes the store. */
  async leave(policy: StoredPolicy): Promise<void> {
    this.#policies.delete(policy)
    if (this.#policies.size > 0 || this.#isClosed) return
    this.#isClosed = true
    for (const link of this.#links.values()) link.close()
    await this.store.close()
  }

  /** Accounts of all policies. */
  *accounts(): Iterable<Account> {
    for (const policy of this.#policies) yield* policy
  }

  /** What this process refuses, as other processes' viewers are told. */
  get refused(): RefusalsMessage {
    return this.refusals.message(Overload.of(this.clock).message)
  }

  /** The policies with their terms, a text for each, as other processes over the store are told them. */
  get statedTerms(): string[] {
    return [...this.#policies].map(({ name, terms }) => name + SEPARATOR + terms)
  }

  /** Warns of policies that have other terms in another process. @param place where the store is */
  compareTerms(stated: readonly string[], place: string | undefined): void {
    for (const text of stated) {
      const [name, theirs] = text.split(SEPARATOR)
      const ours = [...this.#policies].find((policy) => policy.name === name)?.terms
      if (ours === undefined || ours === theirs) continue
      warnOnce(
        'TOLLGATE_TERMS',
        `two processes over one store${place === undefined ? '' : `, ${place},`} have a window named ${shown(name)} with other ` +
          `terms: this one ${ours}, another one ${theirs}. If they are two apps, give one of them another prefix ` +
          '(redisStore(client, { prefix })) or its window another name; if they are one, give it the same terms everywhere',
        `TOLLGATE_TERMS ${text}`,
      )
    }
  }
}

function randomProcess(): string {
  return randomBytes(6).toString('base64url')
}
