import type { Clock } from '../http/clock'
import type { TimeLimit } from '../http/deadline'
import { storeError } from '../http/help'
import { shown } from '../http/options'
import type { Policy } from './options'
import { Accounts } from './store/accounts'
import { SharedStore } from './store/shared-store'
import type { AccountStore } from './store/store'

interface Entry {
  readonly policy: Policy
  readonly accounts: Accounts
  users: number
}

/**
 * The accounts of policies by their names: those of all throttles over one store, or of one throttle without a store. Whoever
 * opens the same policy shares its accounts; where the limits differ, one of them is a mistake.
 */
export class Registry {
  static readonly #ofStore = new WeakMap<AccountStore, Registry>()

  readonly #entries = new Map<string, Entry>()
  readonly #store: AccountStore | undefined

  constructor(store?: AccountStore) {
    this.#store = store
  }

  /** The registry over this store. Without a store it is the caller's own. */
  static of(store: AccountStore | undefined): Registry {
    let registry = store && this.#ofStore.get(store)
    if (registry === undefined) {
      registry = new Registry(store)
      if (store) this.#ofStore.set(store, registry)
    }
    return registry
  }

  /**
   * The accounts of this policy, made where there is none.
   *
   * @throws {TypeError} where there is one of the same name with other terms
   */
  open(policy: Policy, clock: Clock): Accounts {
    const { name, windowMs, carryOvershoot } = policy
    let entry = this.#entries.get(name)
    if (entry === undefined) {
      const shared = this.#store && SharedStore.of(this.#store, clock)
      const terms = { windowUs: windowMs * 1_000, carryOvershoot, shown: shownPolicy(policy) }
      this.#entries.set(name, (entry = { policy, accounts: new Accounts(name, terms, clock, shared), users: 0 }))
    }
    if (!isSame(entry.policy, policy)) {
      throw storeError(
        `two throttles have a window named ${shown(name)}, one of ${shownPolicy(entry.policy)}, one of ` +
          `${shownPolicy(policy)}; give one of them another name`,
      )
    }
    entry.users++
    return entry.accounts
  }

  /** The last user of a policy's accounts closes them. */
  async close(name: string, time: TimeLimit): Promise<void> {
    const entry = this.#entries.get(name)
    if (entry === undefined || --entry.users > 0) return
    this.#entries.delete(name)
    await entry.accounts.close(time)
  }
}

function isSame(one: Policy, other: Policy): boolean {
  return one.limitMs === other.limitMs && one.windowMs === other.windowMs && one.carryOvershoot === other.carryOvershoot
}

function shownPolicy({ limitMs, windowMs, carryOvershoot }: Policy): string {
  const limit = typeof limitMs === 'number' ? `${limitMs} ms` : 'a limit by request'
  return `${limit} in ${windowMs} ms${carryOvershoot ? ' with carryOvershoot' : ''}`
}
