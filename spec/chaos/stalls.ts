import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { Api, Owner } from './apis'
import { TYPESCRIPT, programOf } from '../support/typescript'

/** Later than this the control process or one of the API's was stopped: whoever had to answer then could not. */
const STALLED_MS = 30

export interface Stalls {
  /** The longest time by which the machine let the control process wake late, since the last call, in milliseconds. */
  longestMs(): Promise<number>
}

/** Starts the control process: a machine that stops for 100 ms makes every request on it wait for 100 ms. */
export async function watchStalls(owner: Owner): Promise<Stalls> {
  const child = fork(programOf(__dirname, 'control'), { execArgv: TYPESCRIPT })
  owner.after(() => void child.kill('SIGKILL'))
  const longestMs = async () => {
    child.send('')
    const [lates] = (await once(child, 'message')) as [[number, number][]]
    return lates.reduce((most, [, late]) => Math.max(most, late), 0) // of a long run there are too many to spread
  }
  await longestMs()
  return { longestMs }
}

/** By how much the control process or one of the API's woke late at most, since the last call, in milliseconds. */
export async function longestStallMs(apis: readonly Api[], stalls: Stalls): Promise<number> {
  return Math.max(await stalls.longestMs(), ...(await Promise.all(apis.map((api) => api.stallMs()))))
}

/** What it takes a process and a server to do may be late by twice the longest stall seen: each may have been stopped. */
export function stoppedMs(stallMs: number): number {
  return stallMs > STALLED_MS ? 2 * stallMs : 0
}
