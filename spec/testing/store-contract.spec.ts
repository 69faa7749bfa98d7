import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Answer, Report, StoreServer, ThrottleStore } from '../../lib'
import { throttleStoreContract } from '../../lib/testing'

/** Stores with one mistake each, over a store in memory that keeps the figures of every process. */
class Accounts {
  readonly #fields = new Map<string, Map<string, Report>>()

  /** @param change makes the mistake: what is stored for a report, or undefined for a report that is dropped */
  connect(change: (report: Report, found: Report | undefined) => Report | undefined, clock = now): ThrottleStore {
    const server: StoreServer = {
      name: undefined,
      report: (policy, process, reports) =>
        Promise.resolve(reports.map((report) => this.#answer(process, policy, report, change))),
      beat: () => Promise.resolve({ time: clock() }),
    }
    return {
      serverOf: () => server,
      watch: (watcher) => queueMicrotask(() => watcher.ready(server)),
      close: () => Promise.resolve(),
    }
  }

  #answer(process: string, policy: string, report: Report, change: Parameters<Accounts['connect']>[0]): Answer {
    const time = now()
    if (time < report.starts || time >= report.ends) return { time, status: 'closed', found: 0 }
    const key = `${report.id}:${report.number}:${policy}`
    const fields = this.#fields.get(key) ?? new Map<string, Report>()
    this.#fields.set(key, fields)
    const found = fields.get(process)
    const stored = change(report, found)
    if (!stored) return { time, status: 'late', found: found?.seq ?? 0 }
    fields.set(process, stored)
    const others = [...fields].filter(([id]) => id !== process).map(([, each]) => each)
    const used = others.reduce((sum, each) => sum + each.used, 0)
    const held = others.reduce((sum, each) => sum + each.held, 0)
    const isGranted = report.want <= report.limit - used - held - report.used - report.held
    const [granted, count] = isGranted ? [report.want, report.count] : [0, 0]
    const rest = {
      aheadOfOthers: 0,
      running: 0,
      excused: 0,
      added: 0,
      strain: 100,
      carried: 0,
      ahead: 0,
      places: 0,
      before: 0,
    }
    const figures = { used, held, granted, count, ...rest }
    return { time, status: 'written', found: found?.seq ?? 0, figures }
  }
}

const now = () => Math.round((performance.timeOrigin + performance.now()) * 1_000)

describe('throttleStoreContract()', () => {
  const run = (title: string, connect: () => ThrottleStore) => {
    const check = throttleStoreContract(connect).find((each) => each.title.startsWith(title))
    assert.ok(check, title)
    return check.run()
  }

  it('passes a store that drops old commands, and rejects one that adds them up', async () => {
    const accounts = new Accounts()
    const late = 'does nothing for a command that comes late or again'
    await run(late, () => accounts.connect((report, found) => (found && found.seq >= report.seq ? undefined : report)))
    const added = new Accounts() // each report adds to what is there, so that what comes again is charged twice
    const connect = () =>
      added.connect((report, found) => ({ ...report, used: report.used + (found ? found.used : 0) }))
    await assert.rejects(run(late, connect), /came to \d|not within 10 s/)
  })

  it('rejects where a process does not hear of the others', async () => {
    const connect = () => new Accounts().connect((report) => report)
    await assert.rejects(run('adds up what several processes charge', connect), /not within 10 s: the other process/)
  })

  it('rejects a clock that goes back, or has fractions', async () => {
    let ticks = 0
    const accounts = new Accounts()
    const back = () =>
      accounts.connect(
        (report) => report,
        () => now() - 1_000_000 * ticks++,
      )
    await assert.rejects(run('keeps one clock', back), /beat\(\) says/)
    const fractions = () =>
      accounts.connect(
        (report) => report,
        () => now() + 0.5,
      )
    await assert.rejects(run('keeps one clock', fractions), /beat\(\) says/)
  })
})
