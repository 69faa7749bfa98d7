import { usageError } from './help'
import { shown } from './options'

/**
 * What a function of the app returned that has to answer at once.
 *
 * @param option the option that the function was given as: `session`
 * @throws {TypeError} naming the option, where it returned a promise
 */
export function answeredAtOnce<Answer>(option: string, answer: Answer): Answer {
  if (!isThenable(answer)) return answer
  answer.then(undefined, () => undefined) // its failure would end the process
  throw usageError(`${option} returned a promise, and must answer at once: look up what it needs beforehand`)
}

/** Whether a value is a promise, be it of another library. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/**
 * Calls a function of the app that may be async, and hands on what it throws or rejects with: uncaught, either would end
 * the process.
 */
export function callGuarded(call: () => unknown, failed: (failure: unknown) => void): void {
  try {
    const answer = call()
    if (isThenable(answer)) answer.then(undefined, failed)
  } catch (failure) {
    failed(failure)
  }
}

/**
 * A failure as an error to pass to `next()`, for which `undefined`, `'route'` and `'router'` are no errors: they would
 * let the request go on.
 */
export function asError(failure: unknown): unknown {
  return typeof failure === 'object' && failure !== null ? failure : new Error(`thrown: ${shown(failure)}`)
}
