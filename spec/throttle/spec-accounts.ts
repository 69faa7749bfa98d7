import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { manualClock } from '../../lib/testing'
import type { Answer, Report } from '../../lib/throttle/budget/report'
import { Accounts } from '../../lib/throttle/store/accounts'
import { SharedStore } from '../../lib/throttle/store/shared-store'
import type { AccountStore } from '../../lib/throttle/store/store'
import { type Reported, reportFor } from './redis/report'
import { StoreModel } from './simulation/model'
import { SpecRequest } from './spec-request'

export const LIMIT_US = 1_000_000
export const WINDOW_US = 60_000_000
export const TICK_MS = 125
const TERMS = { windowUs: WINDOW_US, carryOvershoot: false }
/** In the middle of a window of each subject here, or near it. */
const DATE = Date.UTC(2026, 0, 1)

/** Accounts whose time and whose store are the spec's; without `isShared` it has no store. */
export function accountsOf({ isShared = true, living = 1 } = {}) {
  const clock = manualClock(DATE)
  /** Time passes in which no timer fires: the event loop is blocked. */
  let stalledMs = 0
  const server = {
    ...{ model: new StoreModel(), aheadUs: 0, process: '', reports: [] as Report[] },
    /** Refuses what it is asked; or writes reports, and its answers get lost, or are held up. */
    ...{ isDown: false, losesAnswers: false, heldUp: Promise.resolve() },
    /** Holds answers up until what it returns is called. */
    holdUp(): () => void {
      let letGo = () => {}
      server.heldUp = new Promise((resolve) => (letGo = resolve))
      return () => letGo()
    },
    /** Its records cannot be read; its heartbeats fail. */
    ...{ isDamaged: false, failsBeats: false },
    /** A connection is made. */
    connects: () => {},
  }
  const time = () => Math.round(clock.date() * 1_000) + stalledMs * 1_000 + server.aheadUs
  const answer = <T>(make: () => T) => {
    if (server.isDown) return Promise.reject(new Error('down'))
    return Promise.resolve(make())
  }
  const only = {
    name: undefined,
    report: (process: string, reports: readonly Report[]) => {
      server.process = process
      server.reports.push(...reports)
      const written = (report: Report) => server.model.report(process, report, time())
      const unreadable = (): Answer => ({ time: time(), status: 'unreadable', found: 0 })
      const answers = answer(() => reports.map(server.isDamaged ? unreadable : written))
      return server.losesAnswers
        ? answers.then(() => Promise.reject(new Error('lost')))
        : server.heldUp.then(() => answers)
    },
    beat: () =>
      server.failsBeats
        ? Promise.reject(new Error('late'))
        : answer(() => ({ time: time(), living, token: String(server.model.token) })),
  }
  const watch: AccountStore['watch'] = (watcher) => void (server.connects = () => watcher.ready(only))
  const store = { serverOf: () => only, watch, close: () => Promise.resolve() } as AccountStore
  const stalling = { ...clock, now: () => clock.now() + stalledMs, date: () => clock.date() + stalledMs }
  const accounts = new Accounts('default', TERMS, stalling, isShared ? SharedStore.of(store, stalling) : undefined)
  const now = () => Math.round(stalling.now() * 1_000)
  /** What is due is sent, and answered. */
  const settle = async (ms = 0) => {
    for (let i = 0; i < 4; i++) {
      clock.advance(i === 0 ? ms : 0)
      await setImmediate()
    }
  }
  const ask = (price: number | (() => number), limitUs = LIMIT_US, waitUs = 0, clientWaitUs = Infinity) => {
    const terms = { limitUs, waitUs, clientWaitUs }
    return new SpecRequest(accounts, 'ada', now(), { price: typeof price === 'number' ? () => price : price, ...terms })
  }
  const start = (asked: SpecRequest): SpecRequest => {
    assert.ok(asked.hasBegun, 'the request was let in')
    return asked.start(now())
  }
  /** Time passes, and what is due meanwhile is sent and answered. */
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 25) await settle(Math.min(25, ms - passed))
  }
  /** So many milliseconds before the window's end, or after it. */
  const nearEnd = (ms: number) => pass(Math.ceil(accounts.account('ada', now()).end / 1_000 - clock.date()) + ms)
  /** A request that the store lets in. */
  const begin = async (...asked: Parameters<typeof ask>) => {
    const request = ask(...asked)
    await settle()
    return start(request)
  }
  /** Another process reports. */
  const other = (more: Reported) => {
    const { id, phase, start: starts, end: ends } = accounts.account('ada', now())
    const figures = reportFor({ id, phase, starts, ends, limit: LIMIT_US, ...more })
    return server.model.report('other', figures, time())
  }
  const stall = (ms: number) => (stalledMs += ms)
  return { clock, accounts, server, settle, pass, nearEnd, ask, start, begin, now, other, stall }
}

/** The same, whose store has answered once. */
export async function openAccounts(options?: Parameters<typeof accountsOf>[0]) {
  const opened = accountsOf(options)
  await opened.settle()
  return opened
}
