import { closeSync, openSync, readSync } from 'node:fs'

/** One handler's run. Microseconds of the machine's monotonic clock. */
export interface Run {
  readonly id: number
  readonly user: string
  readonly start: number
  /** Undefined while it runs, and for ever where its process was killed. */
  end: number | undefined
  readonly nominalMs: number
  /** From the request's arrival in the process to the handler's start. */
  readonly waitedUs: number
  /** When the last throttle before it said that it is let in, and when `res.end()` had returned. */
  readonly admitted: number
  left: number | undefined
}

/** A request that no handler saw. */
export interface Turned {
  readonly user: string
  readonly at: number
  readonly status: number
  readonly waitedUs: number
}

/** The process stood still: a busy machine let it wait, or stopped it. */
interface Stood {
  readonly from: number
  readonly to: number
}

export interface Log {
  readonly runs: readonly Run[]
  readonly turned: readonly Turned[]
  readonly stood: readonly Stood[]
  /** When the process was found gone. */
  readonly goneAt?: number
}

/** Reads what api.ts writes, as it comes. */
export class LogReader {
  readonly #runs = new Map<number, Run>()
  readonly #turned: Turned[] = []
  readonly #stood: Stood[] = []
  readonly #file: number
  readonly #chunk = Buffer.alloc(1 << 16)
  #rest = ''

  constructor(file: string) {
    this.#file = openSync(file, 'a+')
  }

  read(): Log {
    for (let n = 1; n > 0;) {
      n = readSync(this.#file, this.#chunk, 0, this.#chunk.length, null)
      const lines = (this.#rest + this.#chunk.toString('latin1', 0, n)).split('\n')
      this.#rest = lines.pop() as string // cut off for now, or for ever where the process was killed
      for (const line of lines) this.#take(line)
    }
    return { runs: [...this.#runs.values()], turned: [...this.#turned], stood: [...this.#stood] }
  }

  close(): void {
    closeSync(this.#file)
  }

  #take(line: string): void {
    const [what, n, user = '', ...times] = line.split(' ')
    const [id, [at, more, waitedUs, admitted]] = [Number(n), times.map(Number) as [number, number, number, number]]
    if (what === 'start') {
      this.#runs.set(id, { id, user, start: at, end: undefined, nominalMs: more, waitedUs, admitted, left: undefined })
    } else if (what === 'end') Object.assign(this.#runs.get(id) as Run, { end: at, left: more })
    else if (what === 'stood') this.#stood.push({ from: at, to: more })
    else if (what === 'refused') this.#turned.push({ user, at, status: more, waitedUs })
  }
}

export interface Work {
  /** From the handlers' starts to their ends, without the time in which their process stood still. */
  ms: number
  /** From when they were let in until `res.end()` had returned: also where the machine stopped a process in between. */
  mostMs: number
  requests: number
}

/**
 * Each user's work by the handlers' own log. What has not ended ran until its process was gone.
 *
 * @throws {Error} where a handler still runs
 */
export function workByUser(logs: readonly Log[]): Map<string, Work> {
  const work = new Map<string, Work>()
  for (const { runs, stood, goneAt = Infinity } of logs) {
    for (const { user, start, end = goneAt, admitted, left = goneAt } of runs) {
      if (end === Infinity) throw new Error(`a handler of ${user} has not ended`)
      const sum = work.get(user) ?? { ms: 0, mostMs: 0, requests: 0 }
      const stoodUs = stood.reduce((us, { from, to }) => us + Math.max(0, Math.min(end, to) - Math.max(start, from)), 0)
      sum.ms += (end - start - stoodUs) / 1_000
      sum.mostMs += (left - admitted) / 1_000
      sum.requests++
      work.set(user, sum)
    }
  }
  return work
}
