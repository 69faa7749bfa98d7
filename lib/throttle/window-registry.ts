import type { Clock } from '../http/clock'
import { shown } from '../http/options'
import { SharedWindow } from './sync/shared-window'
import type { ThrottleStore } from './sync/store'
import { StoreHealth } from './sync/store-health'
import type { WindowPolicy } from './window-policy'

interface Entry {
  readonly policy: WindowPolicy
  readonly window: SharedWindow
  users: number
}

/**
 * Windows by name: those of all throttles over one store, or of one throttle without a store. Whoever opens the same
 * window shares it, so that a request is charged once; where the limits differ, one of them is a mistake.
 */
export class WindowRegistry {
  static readonly #ofStore = new WeakMap<ThrottleStore, WindowRegistry>()

  readonly #entries = new Map<string, Entry>()
  readonly #store: ThrottleStore | undefined

  constructor(store?: ThrottleStore) {
    this.#store = store
  }

  /** The windows over this store. Without a store they are the caller's own. */
  static of(store: ThrottleStore | undefined): WindowRegistry {
    let windows = store && this.#ofStore.get(store)
    if (windows === undefined) {
      windows = new WindowRegistry(store)
      if (store) this.#ofStore.set(store, windows)
    }
    return windows
  }

  /**
   * The window of this name, made where there is none.
   *
   * @throws {TypeError} where there is one with another limit or length
   */
  open(policy: WindowPolicy, maxStaleMs: number, clock: Clock): SharedWindow {
    const { name, windowMs, limitMs } = policy
    let entry = this.#entries.get(name)
    if (entry === undefined) {
      const health = this.#store && StoreHealth.of(this.#store, clock)
      entry = { policy, window: new SharedWindow(name, windowMs, maxStaleMs, clock, health), users: 0 }
      this.#entries.set(name, entry)
    }
    if (entry.policy.limitMs !== limitMs || entry.policy.windowMs !== windowMs) {
      throw new TypeError(
        `two throttles have a window named ${shown(name)}, one of ${shownPolicy(entry.policy)}, one of ` +
          `${shownPolicy(policy)}; give one of them another name`,
      )
    }
    entry.users++
    return entry.window
  }

  /** The last user of a window closes it. */
  async close(name: string): Promise<void> {
    const entry = this.#entries.get(name)
    if (entry === undefined || --entry.users > 0) return
    this.#entries.delete(name)
    await entry.window.close()
  }
}

function shownPolicy({ limitMs, windowMs }: WindowPolicy): string {
  return `${typeof limitMs === 'number' ? `${limitMs} ms` : 'a limit by request'} in ${windowMs} ms`
}
