import type { NativeRedis } from './open-redis'

/** How often a connection is looked at. */
const LOOK_MS = 200

/**
 * Ends a connection on which nothing has come for a while though something was asked; the client then opens another.
 *
 * It replaces ioredis' `connectTimeout`, `commandTimeout` and `socketTimeout`: their timers fire before the socket is
 * read, so after a handler that blocked the event loop they end a healthy connection. Here the socket is read first.
 *
 * @param ms from the moment at which something was seen to be outstanding
 */
export function endIfSilent(redis: NativeRedis, ms: number): void {
  let seen = stateOf(redis)
  let waitingSince: number | undefined

  const timer = setInterval(() => {
    const now = performance.now()
    setImmediate(() => look(now)) // what has come is read between a timer and an immediate
  }, LOOK_MS).unref()
  redis.once('end', () => clearInterval(timer))

  function look(now: number): void {
    const state = stateOf(redis)
    const connecting = /^connect/.test(state.status)
    const heard = state.stream !== seen.stream || state.status !== seen.status || state.read !== seen.read
    if (heard) waitingSince = connecting ? now : undefined
    else if (connecting || state.written !== seen.written) waitingSince ??= now
    seen = state
    if (waitingSince === undefined || now - waitingSince < ms) return
    waitingSince = undefined
    redis.stream?.destroy(Object.assign(new Error(`no answer in ${ms} ms`), { code: 'ETIMEDOUT' }))
  }
}

function stateOf({ status, stream }: NativeRedis) {
  return { status, stream, read: stream?.bytesRead, written: stream?.bytesWritten }
}
