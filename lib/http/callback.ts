import { usageError } from './help'
import { shown } from './options'

/**
 * Return value of a callback that must be synchronous.
 *
 * @param option name of the callback's option: `session`
 * @throws {TypeError} naming the option, if the callback returned a promise
 */
export function answeredAtOnce<Answer>(option: string, answer: Answer): Answer {
  if (!isThenable(answer)) return answer
  answer.then(undefined, () => undefined) // its failure would end the process
  throw usageError(`${option} returned a promise, and must answer at once: look up what it needs beforehand`)
}

/** Whether a value is a promise, also of another library. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** What follows from an answer: at once, or when the answer comes. */
export function whenAnswered<Answer, Result>(
  answer: Answer | PromiseLike<Answer>,
  next: (answer: Answer) => Result | Promise<Result>,
): Result | Promise<Result> {
  return isThenable(answer) ? Promise.resolve(answer).then(next) : next(answer)
}

/** Kind of a thrown value, without its message, which may hold a token. */
export function thrown(cause: unknown): string {
  return cause instanceof Error ? cause.name : typeof cause
}

/**
 * Calls a callback that may be async. Passes what it throws or rejects with to `failed`: uncaught, either would end the
 * process.
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
 * A failure as an error for `next()`. `next()` takes `undefined`, `'route'` and `'router'` for commands, and the request
 * would go on.
 */
export function asError(failure: unknown): unknown {
  return typeof failure === 'object' && failure !== null ? failure : new Error(`thrown: ${shown(failure)}`)
}
