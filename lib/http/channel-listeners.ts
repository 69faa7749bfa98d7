import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { warnOnce } from './warn-once'

const REMEDY = 'Requests are not affected. Correct what it was given, such as the meter; its figures miss this message'

/**
 * Subscribes to channels of `node:diagnostics_channel`. Node ends the process when a listener throws; here the error
 * becomes a warning, `TOLLGATE_LISTENER`, once.
 *
 * @param who listens, for the warning: `throttleDashboard()`
 * @param listeners by the channel's name
 * @returns a function that unsubscribes
 */
export function listenTo(who: string, listeners: Readonly<Record<string, (message: never) => void>>): () => void {
  const guarded = Object.entries(listeners).map(([name, listener]): [string, ChannelListener] => [
    name,
    (message) => {
      try {
        listener(message as never)
      } catch (err) {
        warnOnce('TOLLGATE_LISTENER', `${who} failed at a message of ${name}: ${String(err)}. ${REMEDY}`)
      }
    },
  ])
  for (const [name, listener] of guarded) subscribe(name, listener)
  return () => {
    for (const [name, listener] of guarded) unsubscribe(name, listener)
  }
}
