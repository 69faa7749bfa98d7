import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel'

/** What listens until it ends: a test, or a file. */
interface Owner {
  after(fn: () => void): void
}

/** What the channel `express-tollgate:<name>` tells until the test ends. */
export function heard<Message>(t: Owner, name: string): Message[] {
  const messages: Message[] = []
  const listener: ChannelListener = (message) => messages.push(message as Message)
  subscribe(`express-tollgate:${name}`, listener)
  t.after(() => unsubscribe(`express-tollgate:${name}`, listener))
  return messages
}

/** What is warned of until the test ends, with codes that begin so. */
export function warned(t: Owner, code = 'TOLLGATE_'): string[] {
  const messages: string[] = []
  const listener = (warning: Error & { code?: string }) => {
    if (warning.code?.startsWith(code)) messages.push(warning.message)
  }
  process.on('warning', listener)
  t.after(() => process.off('warning', listener))
  return messages
}
