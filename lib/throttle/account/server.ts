import { WindowClock } from './window-clock'

/** What a process knows of the server that keeps an account. */
export interface Server {
  readonly clock: WindowClock
  /** Undefined stands for this process's memory: it grants all that is left, and never goes down. */
  readonly name: string | undefined
  readonly isMemory: boolean
  /** It does not answer: this process decides within its share. */
  readonly isDown: boolean
  /** Since when, in µs of the process's clock. */
  readonly downSince: number
  /** How many processes the server has heard of lately, at least 1. */
  readonly living: number
}

/** The memory of this process in place of a server. */
export function memoryServer(wallOffsetUs: number): Server {
  const clock = new WindowClock(wallOffsetUs, 0)
  return { clock, name: undefined, isMemory: true, isDown: false, downSince: 0, living: 1 }
}
