import type { Clock } from '../../http/clock'
import { shown } from '../../http/options'
import type { Answer, AnswerFigures, Beat, StoreServer } from './store'

/** After this long without an answer a process decides alone, in milliseconds. */
const DEADLINE_MS = 70
/** A timer that fires later than this was held up by the event loop. */
const LATE_MS = 5
/** What was due meanwhile is looked at again so much later: it may not have been sent before the process went on. */
const GRACE_MS = DEADLINE_MS / 2
/** A loop that is blocked again and again proves nothing either, but not for ever. */
const LOOKS = 20

const STATUS: ReadonlySet<unknown> = new Set<Answer['status']>(['written', 'closed', 'late', 'unreadable'])
const FIGURES = [
  ...(['used', 'held', 'aheadOfOthers', 'running', 'excused', 'added', 'strain'] as const),
  ...(['granted', 'count', 'ahead', 'places', 'carried'] as const),
]

/** A store does something else than its interface says. Its server counts as down, as where it does not answer. */
export class StoreContractError extends Error {
  override readonly name = 'StoreContractError'
}

/** Calls a method of a server. What it throws, and an answer that is no promise, is a rejection. */
export function callStore<T>(method: 'report' | 'beat', call: () => Promise<T>): Promise<T> {
  try {
    const answer: unknown = call()
    if (typeof (answer as Promise<T> | undefined)?.then === 'function') return answer as Promise<T>
    throw new StoreContractError(`${method}() must return a promise; it returned ${shown(answer)}`)
  } catch (err) {
    const cause = err as Error
    return Promise.reject(cause)
  }
}

/**
 * Calls `missed` unless cancelled within 70 ms. An answer that arrived while the event loop was blocked is read first, so
 * a blocked loop is no outage.
 *
 * @returns cancels it
 */
export function deadline(clock: Clock, missed: () => void): () => void {
  let cancel: () => void
  const arm = (ms: number, looks: number): void => {
    const dueAt = clock.now() + ms
    cancel = clock.after(ms, () => {
      if (clock.now() - dueAt > LATE_MS && looks > 0) return arm(GRACE_MS, looks - 1)
      cancel = clock.after(0, missed) // timers come before what the network brought
    })
  }
  arm(DEADLINE_MS, LOOKS)
  return () => cancel()
}

/** What is wrong with the answers to so many reports; undefined where nothing is. */
export function wrongAnswers(answers: unknown, reports: number): StoreContractError | undefined {
  if (!Array.isArray(answers) || answers.length !== reports) {
    const received = Array.isArray(answers) ? answers.length : shown(answers)
    return new StoreContractError(
      `report() must resolve to one answer for each report, ${reports}; received ${received}`,
    )
  }
  for (const answer of answers as unknown[]) {
    const wrong = wrongAnswer(answer as Partial<Answer> | null)
    if (wrong !== undefined) return new StoreContractError(`an answer of report() has a wrong ${wrong}`)
  }
  return undefined
}

function wrongAnswer(answer: Partial<Answer> | null | undefined): string | undefined {
  if (!Number.isFinite(answer?.time)) return `time: ${shown(answer?.time)}`
  const { status, found, cause, figures } = answer as Answer
  if (!STATUS.has(status)) return `status: ${shown(status)}`
  if (!Number.isFinite(found)) return `found: ${shown(found)}`
  if (cause !== undefined && typeof cause !== 'string') return `cause: ${shown(cause)}`
  return status === 'written' ? wrongFigures(figures) : undefined
}

function wrongFigures(figures: AnswerFigures | null | undefined): string | undefined {
  const name = FIGURES.find((each) => !Number.isFinite(figures?.[each]))
  if (name !== undefined) return `figures.${name}: ${shown(figures?.[name])}`
  const before = figures?.before
  return before === undefined || Number.isFinite(before) ? undefined : `figures.before: ${shown(before)}`
}

/** What is wrong with the answer to a heartbeat; undefined where nothing is. */
export function wrongBeat(beat: unknown): StoreContractError | undefined {
  const { time, living = 1, token = '' } = (beat ?? {}) as Partial<Beat>
  if (!Number.isFinite(time)) return new StoreContractError(`an answer of beat() has a wrong time: ${shown(time)}`)
  if (!Number.isFinite(living))
    return new StoreContractError(`an answer of beat() has a wrong living: ${shown(living)}`)
  if (typeof token === 'string') return undefined
  return new StoreContractError(`an answer of beat() has a wrong token: ${shown(token)}`)
}

/** A server as a store returns it from serverOf(). */
export function isStoreServer(server: unknown): server is StoreServer {
  const { report, beat } = (server ?? {}) as Partial<StoreServer>
  return typeof report === 'function' && typeof beat === 'function'
}
