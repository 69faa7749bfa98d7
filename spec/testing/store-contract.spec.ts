import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { StoreShard, ThrottleStore } from '../../lib'
import { throttleStoreContract } from '../../lib/testing'

type Sync = StoreShard['sync']
type Command = Parameters<Sync>[1]

/** Stores with one mistake each, over a store in memory that keeps the figures of every process. */
class Windows {
  readonly #fields = new Map<string, Map<symbol, Command>>()

  /** @param change makes the mistake: what is stored for a command, or undefined for a command that is dropped */
  connect(change: (command: Command, found: Command | undefined) => Command | undefined, clock = now): ThrottleStore {
    const process = Symbol()
    const shard: StoreShard = {
      name: undefined,
      sync: (window, command) => Promise.resolve(this.#sync(process, window, command, change)),
      beat: () => Promise.resolve({ time: clock(), whole: true }),
    }
    return {
      shardOf: () => shard,
      watch: (watcher) => queueMicrotask(() => watcher.ready(shard)),
      close: () => Promise.resolve(),
    }
  }

  #sync(process: symbol, window: string, command: Command, change: Parameters<Windows['connect']>[0]) {
    const time = now()
    if (time < command.starts || time >= command.ends) return { time }
    const key = `${command.id}:${command.number}:${window}`
    const fields = this.#fields.get(key) ?? new Map<symbol, Command>()
    this.#fields.set(key, fields)
    const found = fields.get(process)
    const stored = change(command, found)
    if (!stored) return { time }
    fields.set(process, stored)
    const others = [...fields].filter(([id]) => id !== process).map(([, each]) => each)
    const othersSpent = others.reduce((sum, each) => sum + each.spent, 0)
    const free = command.limit - othersSpent - others.reduce((sum, each) => sum + each.hold, 0) - command.spent
    const granted = Math.max(0, Math.min(command.want, free - command.hold))
    const rest = { othersRunning: 0, othersHeld: 0, more: 0, lone: false, incarnation: 0, ended: 0 }
    const written = { othersSpent, granted, found: found?.seq ?? 0, ...rest }
    return { time, written }
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
    const windows = new Windows()
    const late = 'does nothing for a command that comes late or again'
    await run(late, () =>
      windows.connect((command, found) => (found && found.seq >= command.seq ? undefined : command)),
    )
    const added = new Windows() // each command adds to what is there, so that what comes again is charged twice
    const connect = () =>
      added.connect((command, found) => ({ ...command, spent: command.spent + (found ? found.spent : 0) }))
    await assert.rejects(run(late, connect), /came to \d|not within 10 s/)
  })

  it('rejects where a process does not hear of the others', async () => {
    const connect = () => new Windows().connect((command) => command)
    await assert.rejects(run('adds up what several processes charge', connect), /not within 10 s: the other process/)
  })

  it('rejects a clock that goes back, or has fractions', async () => {
    let ticks = 0
    const windows = new Windows()
    const back = () =>
      windows.connect(
        (command) => command,
        () => now() - 1_000_000 * ticks++,
      )
    await assert.rejects(run('keeps one clock', back), /beat\(\) says/)
    const fractions = () =>
      windows.connect(
        (command) => command,
        () => now() + 0.5,
      )
    await assert.rejects(run('keeps one clock', fractions), /beat\(\) says/)
  })
})
