import type { EventLoop } from './event-loop'
import type { Random } from './random'
import type { SimulatedRedis } from './simulated-redis'

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

/** Sends a command to Redis. `receive` is called with its reply, or never where command or reply are lost. */
export function send<T>(
  { loop, random, redis }: { loop: EventLoop; random: Random; redis: SimulatedRedis },
  network: Network,
  execute: () => T,
  receive: (reply: T) => void,
): void {
  const { delayUs, jitterUs, latestUs = 0 } = network
  const oneWay = () => delayUs + random.exponential(jitterUs)
  const happens = (probability = 0) => probability > 0 && random.chance(probability)
  let there = oneWay()
  let back = oneWay()
  if (happens(network.lateCommands)) there += random.fraction() * latestUs
  if (happens(network.lateReplies)) back += random.fraction() * latestUs
  const arrive = (isFirst: boolean) => {
    if (!redis.isUp) return
    const reply = execute()
    if (isFirst && !happens(network.lostReplies)) loop.after(back, () => receive(reply))
  }
  if (!happens(network.lostCommands)) loop.after(there, () => arrive(true))
  if (happens(network.duplicates)) loop.after(there + random.fraction() * latestUs, () => arrive(false))
}
