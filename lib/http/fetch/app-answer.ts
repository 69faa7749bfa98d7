import { thrown } from '../callback'
import type { Clock } from '../clock'
import { within } from '../deadline'
import { RemediedProblem } from './fetch-failure'

/** Longest wait for a function of the app, in milliseconds: as long as for a server. */
const LONGEST_MS = 5_000

/**
 * Answer of a function of the app that may be async, within 5 s.
 *
 * @param option name of the function's option: `introspection.token`
 * @throws {RemediedProblem} that names the option and the kind of the error, which is its `cause`: the message may hold a
 *   secret
 */
export async function answerOfApp<Answer>(
  option: string,
  clock: Clock,
  call: () => Answer | Promise<Answer>,
): Promise<Answer> {
  try {
    return await within(LONGEST_MS, clock, async () => call())
  } catch (cause) {
    const why = `the option ${option} failed with ${thrown(cause)}`
    throw new RemediedProblem(why, 'err.cause of onDenied has the error', { cause })
  }
}
