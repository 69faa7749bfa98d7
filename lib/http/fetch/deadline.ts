import type { Clock } from '../clock'

/**
 * The result of a call, if it comes in time.
 *
 * @param call gets a signal that is aborted after the time, and may ignore it
 * @throws {Error} `no answer within 5000 ms`, of the name `TimeoutError`; or what the call throws
 */
export async function within<Answer>(
  timeoutMs: number,
  clock: Clock,
  call: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const aborter = new AbortController()
  const { signal } = aborter
  const late = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  const reason = Object.assign(new Error(`no answer within ${timeoutMs} ms`), { name: 'TimeoutError' })
  const cancel = clock.after(timeoutMs, () => aborter.abort(reason))
  try {
    return await Promise.race([call(signal), late])
  } finally {
    cancel()
  }
}
