import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../clock'

type Write = (this: Socket, ...args: unknown[]) => unknown

/**
 * Watches the connection of an upgrade request that an app handles by a stand-in response. Whoever accepts or refuses
 * the upgrade writes to the connection itself, and never ends the response. Where the app answers by the response, it is
 * a request like any other.
 *
 * @param taken called once when somebody takes the connection over; where somebody reads it already, when the handlers
 *   have had their turn
 */
export function watchTakeover(res: ServerResponse, clock: Clock, taken: () => void): void {
  const socket = res.req.socket as Socket | undefined
  if (socket === undefined) return
  if (socket.listenerCount('data') > 0 || socket.listenerCount('readable') > 0) return void clock.after(0, taken)
  const writes = socket as unknown as { write: Write; end: Write }
  const { write, end } = writes
  let isTaken = false
  const look = () => {
    if (isTaken || res.headersSent) return
    isTaken = true
    taken()
  }
  writes.write = function (...args) {
    look()
    return Reflect.apply(write, this, args)
  }
  writes.end = function (...args) {
    look()
    return Reflect.apply(end, this, args)
  }
}
