import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers'
import { unref } from '../http/clock'

/** The parts of a client that are watched. */
interface Connection {
  readonly status: string
  readonly stream?: Socket
  once(event: 'end', listener: () => void): unknown
}

/** Interval of checks. */
const LOOK_MS = 200
/** Longest silence of a connection that opens: TCP, TLS, AUTH and the check whether the data is loaded. */
const MOST_CONNECT_MS = 5_000

/**
 * Ends a connection that has been silent for a while although commands are outstanding. The client then opens another.
 *
 * Replaces ioredis' `connectTimeout`, `commandTimeout` and `socketTimeout`. Their timers fire before the socket is read,
 * so they end a healthy connection after a handler has blocked the event loop. Here the socket is read first.
 *
 * A server far away, or at its start, may need longer to open a connection than to answer a command. So each connection
 * that was ended while it opened gives the next one twice the time, up to 5 s.
 *
 * @param ms silence from the first check that saw an outstanding command
 */
export function endIfSilent(redis: Connection, ms: number): void {
  let seen = stateOf(redis)
  let waitingSince: number | undefined
  let connectMs = ms

  const lookSoon = () => setImmediate(look, performance.now()) // data is read between a timer and an immediate
  const timer = unref(setInterval(lookSoon, LOOK_MS))
  redis.once('end', () => clearInterval(timer))

  function look(now: number): void {
    const state = stateOf(redis)
    const connecting = /^connect/.test(state.status)
    const heard = state.stream !== seen.stream || state.status !== seen.status || state.read !== seen.read
    if (heard) waitingSince = connecting ? now : undefined
    else if (connecting || state.written !== seen.written) waitingSince ??= now
    seen = state
    if (state.status === 'ready') connectMs = ms
    const mostMs = connecting ? connectMs : ms
    if (waitingSince === undefined || now - waitingSince < mostMs) return
    waitingSince = undefined
    if (connecting) connectMs = Math.min(2 * connectMs, MOST_CONNECT_MS)
    redis.stream?.destroy(Object.assign(new Error(`no answer in ${mostMs} ms`), { code: 'ETIMEDOUT' }))
  }
}

function stateOf({ status, stream }: Connection) {
  return { status, stream, read: stream?.bytesRead, written: stream?.bytesWritten }
}
