import { mock } from 'node:test'
import type { SyncCommand } from '../../../../lib/throttle/sync/sync-protocol'
import { WaitingLine } from '../../../../lib/throttle/sync/waiting-line'
import type { Waiter } from '../../../../lib/throttle/window/decision'
import { Engine } from '../../../../lib/throttle/window/engine'
import { SubjectWindow } from '../../../../lib/throttle/window/subject-window'
import { SCRIPT, type ScriptRules } from './model'
import type { Changes } from './simulation'
import type { Mode } from './workload'

/** One cure left out, and the mode in which that must be found. */
export interface Mutant {
  readonly lacks: string
  readonly mode: Mode
  readonly changes?: Changes
  /** Changes the engine's own code; mock.restoreAll() undoes it. */
  readonly patch?: () => void
}

const script = (rules: Partial<ScriptRules>): Changes => ({ rules: { ...SCRIPT, ...rules } })
const command = (change: (c: SyncCommand) => Partial<SyncCommand>): Changes => ({
  command: (c) => ({ ...c, ...change(c) }),
})
const nothing = () => undefined

/** The shared window: what is stored, said and lost. */
export const WINDOW_MUTANTS: readonly Mutant[] = [
  { lacks: 'the order of commands', mode: 'late', changes: script({ ordered: false }) },
  { lacks: "a closed process's name", mode: 'closed', changes: script({ fenced: false }) },
  { lacks: 'handing charges over', mode: 'closed', changes: script({ handedOver: false }) },
  { lacks: "healing of ended processes' charges", mode: 'lost', changes: command(() => ({ ended: 0 })) },
  { lacks: 'incarnations: it heals within one', mode: 'rolledBack', changes: script({ healed: 'any' }) },
  { lacks: 'sums taken anew', mode: 'evicted', changes: script({ summedAnew: false }) },
  { lacks: 'holds that lapse', mode: 'killed', changes: script({ lapsing: false }) },
  { lacks: 'what others hold', mode: 'waiting', changes: script({ held: false }) },
  { lacks: 'holds told', mode: 'waiting', changes: command(() => ({ hold: 0 })) },
  {
    lacks: 'publishing again after a loss',
    mode: 'lost',
    patch: () => mock.method(Engine.prototype, 'republish', nothing),
  },
  {
    lacks: 'publishing at ticks',
    mode: 'clean',
    patch: () => mock.method(Engine.prototype, 'tick', () => []),
  },
  {
    lacks: 'bounds of what is a trifle',
    mode: 'clean',
    patch: () => mock.method(SubjectWindow.prototype, 'isTrifle', () => true),
  },
  {
    lacks: 'telling what a trifle took more',
    mode: 'clean',
    patch: () => mock.getter(SubjectWindow.prototype, 'dirty', () => false),
  },
]

/** Admission: those who wait. */
export const WAITING_MUTANTS: readonly Mutant[] = [
  {
    lacks: 'one who waits: it is skipped',
    mode: 'waiting',
    patch() {
      const keepWaiting = original(SubjectWindow.prototype, 'keepWaiting')
      mock.method(SubjectWindow.prototype, 'keepWaiting', function (this: SubjectWindow, waiting: Waiter[]) {
        keepWaiting.call(this, waiting.length > 2 ? waiting.toSpliced(1, 1) : waiting)
      })
    },
  },
  {
    lacks: 'order: the last is admitted first',
    mode: 'waiting',
    patch() {
      const decideWaiting = original(Engine.prototype, 'decideWaiting')
      mock.method(
        Engine.prototype,
        'decideWaiting',
        function (this: Engine, s: SubjectWindow, ...by: [Parameters<Engine['decideWaiting']>[1], number]) {
          s.keepWaiting(s.waiting.toReversed())
          return decideWaiting.call(this, s, ...by)
        },
      )
    },
  },
  {
    lacks: 'a look after a request has ended, and by the timer',
    mode: 'waiting',
    patch() {
      mock.method(WaitingLine.prototype, 'lookSoon', nothing)
      mock.method(WaitingLine.prototype, 'arm', nothing)
    },
  },
  {
    lacks: 'asking the store again',
    mode: 'waiting',
    patch: () => mock.method(SubjectWindow.prototype, 'isAskDue', () => false),
  },
  {
    lacks: 'asking the store again soon',
    mode: 'waiting',
    patch() {
      const askAgainLater = original(SubjectWindow.prototype, 'askAgainLater')
      mock.method(SubjectWindow.prototype, 'askAgainLater', function (this: SubjectWindow, now: number) {
        askAgainLater.call(this, now + 400_000)
      })
    },
  },
  {
    lacks: 'letting go of clients that have gone',
    mode: 'waiting',
    patch: () => mock.method(Engine.prototype, 'dropGone', nothing),
  },
  { lacks: 'patience', mode: 'waiting', patch: () => waitUntil(-Infinity) },
]

function waitUntil(until: number): void {
  const keepWaiting = original(SubjectWindow.prototype, 'keepWaiting')
  mock.method(SubjectWindow.prototype, 'keepWaiting', function (this: SubjectWindow, waiting: Waiter[]) {
    for (const waiter of waiting) Object.assign(waiter, { until })
    keepWaiting.call(this, waiting)
  })
}

/** A method as it is now, to be called with an object of the class. */
function original<T extends object, K extends keyof T>(prototype: T, name: K): T[K] {
  return prototype[name]
}
