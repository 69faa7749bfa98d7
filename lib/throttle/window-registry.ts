import type { Application } from 'express'
import { type Clock } from '../http/clock'
import { shown } from '../http/options'
import { rootApp } from '../http/root-app'
import { SharedWindow } from './sync/shared-window'
import type { ThrottleStore } from './sync/store'
import { StoreHealth } from './sync/store-health'
import type { WindowPolicy } from './window-policy'

interface Entry {
  readonly terms: WindowPolicy
  readonly window: SharedWindow
  users: number
}

/**
 * The windows over one store, or of one app where there is no store, by name. Two throttles that name the same window
 * share it, so that a request is charged once; if they mean different limits, one of them is a mistake.
 */
export class WindowRegistry {
  readonly #entries = new Map<string, Entry>()

  static readonly #ofStore = new WeakMap<ThrottleStore, WindowRegistry>()
  static readonly #ofApp = new WeakMap<object, WindowRegistry>()

  static of(store: ThrottleStore): WindowRegistry {
    return found(this.#ofStore, store)
  }

  /** The windows of the app that the request came to, its outermost one where apps are mounted in apps. */
  static ofApp(app: Application): WindowRegistry {
    return found(this.#ofApp, rootApp(app))
  }

  /**
   * The window of this name, opened if there is none.
   *
   * @throws {TypeError} where there is one with other terms
   */
  open(terms: WindowPolicy, open: () => SharedWindow): SharedWindow {
    let entry = this.#entries.get(terms.name)
    if (entry === undefined) this.#entries.set(terms.name, (entry = { terms, window: open(), users: 0 }))
    if (entry.terms.limitMs !== terms.limitMs || entry.terms.windowMs !== terms.windowMs) {
      throw new TypeError(
        `two throttles have a window named ${shown(terms.name)}, one of ${said(entry.terms)}, one of ${said(terms)}; ` +
          'give one of them another name',
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

/** A window over a store, or this process's own. */
export function openWindow(
  { name, windowMs }: WindowPolicy,
  maxStaleMs: number,
  clock: Clock,
  store: ThrottleStore | undefined,
): SharedWindow {
  return new SharedWindow(name, windowMs, maxStaleMs, clock, store && StoreHealth.of(store, clock))
}

function found<K extends object>(map: WeakMap<K, WindowRegistry>, key: K): WindowRegistry {
  let windows = map.get(key)
  if (windows === undefined) map.set(key, (windows = new WindowRegistry()))
  return windows
}

function said({ limitMs, windowMs }: WindowPolicy): string {
  return `${typeof limitMs === 'number' ? `${limitMs} ms` : 'a limit by request'} in ${windowMs} ms`
}
