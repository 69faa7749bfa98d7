import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock, ThrottleStore } from '../../../lib/index'
import { SharedWindow } from '../../../lib/throttle/sync/shared-window'
import { StoreHealth } from '../../../lib/throttle/sync/store-health'
import type { SyncCommand, SyncReply } from '../../../lib/throttle/sync/sync-protocol'
import type { Decision } from '../../../lib/throttle/window/decision'
import { manualClock } from '../../../lib/testing/index'

const STARTED = 1_700_000_000_000

/** A window over a store that answers when it is told to. @param othersSpent by other processes, of each subject */
async function window(othersSpent = 0) {
  const manual = manualClock(STARTED)
  const timers: number[] = []
  const clock: Clock & { advance(ms: number): void } = {
    ...manual,
    after(ms, fn) {
      timers.push(ms)
      return manual.after(ms, fn)
    },
  }
  const timeUs = () => clock.date() * 1_000
  const asked: { readonly command: SyncCommand; readonly answer: () => void }[] = []
  const shard = {
    name: undefined,
    isOnly: true,
    beat: () => Promise.resolve({ time: timeUs(), whole: true }),
    sync: (_window: string, command: SyncCommand) =>
      new Promise<SyncReply>((resolve) => {
        const figures = {
          othersSpent,
          othersRunning: 0,
          othersHeld: 0,
          granted: command.want + command.slice,
          more: command.limit,
          incarnation: 1,
          ended: 0,
        }
        const written = { ...figures, lone: false, found: command.stored }
        asked.push({ command, answer: () => resolve({ time: timeUs(), written }) })
      }),
  }
  const store: ThrottleStore = { shardOf: () => shard, watch: (w) => w.ready(shard), close: () => Promise.resolve() }
  const made = new SharedWindow('w', 3_600_000, 250, clock, StoreHealth.of(store, clock))
  await turn()
  /** What the store was asked since, and answers now. */
  const answered = async () => {
    const now = asked.splice(0)
    for (const { answer } of now) answer()
    await turn()
    return now.length
  }
  return { window: made, clock, timers, asked, answered }
}

/** Whatever promises lead to. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

describe('SyncClient', () => {
  it('sends what is due a part at a time, and all of it within a tick', async () => {
    const { window: made, clock, answered } = await window()
    const settle = (of: string) => made.settle(made.begin(made.subjectWindow(of)), clock.now() * 1_000)
    for (let i = 0; i < 400; i++) settle(`s${i}`)
    const sent: number[] = []
    for (let ms = 0; ms < 125; ms++) {
      clock.advance(1)
      const n = await answered()
      if (n > 0) sent.push(n)
    }
    assert.equal(
      sent.reduce((sum, n) => sum + n, 0),
      400,
    )
    assert.ok(Math.max(...sent) <= 100, sent.join(' '))
  })

  it('looks at subjects in the order in which they became due, each within a tick', async () => {
    const { window: made, clock, answered } = await window()
    const settle = (of: string) => made.settle(made.begin(made.subjectWindow(of)), clock.now() * 1_000)
    const sent: number[] = []
    for (let ms = 0; ms < 250; ms++) {
      if (ms < 125) settle(`s${ms}`)
      clock.advance(1)
      sent.push(await answered())
    }
    const within = (from: number, to: number) => sent.slice(from, to).reduce((sum, n) => sum + n, 0)
    assert.equal(within(0, 105), 0)
    assert.ok(within(0, 126) >= 1 && within(0, 126) <= 33, String(within(0, 126)))
    assert.equal(within(0, 250), 125)
    assert.ok(Math.max(...sent) <= 33, sent.join(' '))
  })
  it('has time granted anew before it is used up, where a subject asks often', async () => {
    const { window: made, clock, answered } = await window()
    const ask = () => {
      let isDecided = false
      const decided = () => (isDecided = true)
      const wait = { maxUs: 1_000_000, perSubject: 100 }
      const asks = { price: () => 1_000, limitUs: 3_600_000_000, wait, gone: false, waits: () => undefined, decided }
      const verdict = made.admit('ada', asks)
      if ('ticket' in verdict) made.settle(verdict.ticket, clock.now() * 1_000)
      return 'ticket' in verdict || isDecided ? 0 : 1
    }
    let waited = 0
    let commands = 0
    for (let ms = 0; ms < 100; ms++) {
      for (let i = 0; i < 8; i++) waited += ask()
      clock.advance(1)
      commands += await answered()
    }
    assert.ok(waited <= 16, `${waited} of 800 requests waited`)
    assert.ok(commands <= 8, `${commands} commands`)
  })

  /** A request of half a millisecond asks. Says later how it was decided. */
  function admit(made: SharedWindow) {
    const decisions: Decision[] = []
    const decided = (decision: Decision) => void decisions.push(decision)
    const wait = { maxUs: 1_000_000, perSubject: 100 }
    made.admit('ada', { price: () => 500, limitUs: 1_000_000, wait, gone: false, waits: () => undefined, decided })
    return decisions
  }

  it('takes it for an outage where a request had no answer within the deadline', async () => {
    const { window: made, clock } = await window()
    const decisions = admit(made)
    clock.advance(75)
    const [decision] = decisions
    assert.ok(decision && 'ticket' in decision)
    assert.equal(made.isDegraded(decision.ticket.subjectWindow), true)
  })

  it('takes it for none where a request has to be asked about twice, and each answer comes in time', async () => {
    const { window: made, clock, asked, answered } = await window(600_000)
    const decisions = admit(made)
    assert.equal(asked[0]?.command.want, 0, 'it looks like a trifle')
    clock.advance(40)
    assert.equal(await answered(), 1)
    assert.equal(asked[0]?.command.want, 500, 'and is none')
    clock.advance(35)
    const [decision] = decisions
    assert.ok(decision && 'ticket' in decision, 'it is decided within the deadline')
    assert.equal(made.isDegraded(decision.ticket.subjectWindow), false)
    assert.equal(await answered(), 1)
    made.settle(decision.ticket, clock.now() * 1_000)
    clock.advance(125)
    assert.equal(await answered(), 1, 'it goes on telling the store')
  })

  it('wakes for one subject alone once a tick', async () => {
    const { window: made, clock, timers, answered } = await window()
    made.settle(made.begin(made.subjectWindow('ada')), clock.now() * 1_000)
    timers.splice(0)
    for (let ms = 0; ms < 125; ms++) {
      clock.advance(1)
      await answered()
    }
    assert.equal(timers.filter((ms) => ms < 50).length, 0, timers.join(' '))
  })
})
