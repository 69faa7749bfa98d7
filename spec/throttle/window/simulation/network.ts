import type { EventLoop } from './event-loop'
import type { Random } from './random'

/** What lies between a process and Redis; probabilities from 0 to 1, times in microseconds. */
export interface Network {
  /** One way: at least this, and a random time of this mean on top. */
  readonly delayUs: number
  readonly jitterUs: number
  readonly lostCommands?: number
  readonly lostReplies?: number
  /** A command that arrives twice. */
  readonly duplicates?: number
  readonly lateCommands?: number
  readonly lateReplies?: number
  /** Late, and the second of duplicates: by at most this. */
  readonly latestUs?: number
}

/** A connection that says nothing for so long is made anew, and what was sent by it fails. */
const SILENT_US = 800_000
const SILENT = new Error('the connection is silent')

/** Sends a command to Redis. `execute` returns undefined where Redis cannot be reached. */
export function send<T>(
  { loop, random, network }: { loop: EventLoop; random: Random; network: Network },
  execute: () => T | undefined,
  receive: (reply: T) => void,
  fail: (reason: Error) => void,
): void {
  const { delayUs, jitterUs, latestUs = 0 } = network
  let there = delayUs + random.exponential(jitterUs)
  let back = delayUs + random.exponential(jitterUs)
  if (random.happens(network.lateCommands)) there += random.fraction() * latestUs
  if (random.happens(network.lateReplies)) back += random.fraction() * latestUs
  const isSilent = random.happens(network.lostCommands)
  if (!isSilent) {
    loop.after(there, () => {
      const reply = execute()
      const isLost = reply === undefined || random.happens(network.lostReplies) || there + back > SILENT_US
      if (!isLost) loop.after(back, () => receive(reply))
      else loop.after(SILENT_US - there, () => fail(SILENT))
    })
  } else loop.after(SILENT_US, () => fail(SILENT))
  if (random.happens(network.duplicates)) loop.after(there + random.fraction() * latestUs, execute)
}
