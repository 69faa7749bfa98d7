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
}

/** A request that no handler saw. */
export interface Turned {
  readonly user: string
  readonly at: number
  readonly status: number
  readonly waitedUs: number
}

export interface Log {
  readonly runs: readonly Run[]
  readonly turned: readonly Turned[]
  /** When the process was found gone. */
  readonly goneAt?: number
}

/** Reads what api.ts wrote. A last line cut off by a kill is left out. */
export function parseLog(text: string): Log {
  const runs = new Map<number, Run>()
  const turned: Turned[] = []
  for (const line of text.slice(0, text.lastIndexOf('\n') + 1).split('\n')) {
    const [what, n, user = '', at, more, waited] = line.split(' ')
    const id = Number(n)
    if (what === 'start') {
      const nominalMs = Number(more)
      runs.set(id, { id, user, start: Number(at), end: undefined, nominalMs, waitedUs: Number(waited) })
    } else if (what === 'end') (runs.get(id) as Run).end = Number(at)
    else if (what === 'refused') turned.push({ user, at: Number(at), status: Number(more), waitedUs: Number(waited) })
  }
  return { runs: [...runs.values()], turned }
}

export interface Work {
  ms: number
  requests: number
}

/**
 * Each user's work by the handlers' own log. What has not ended ran until its process was gone.
 *
 * @throws {Error} where a handler still runs
 */
export function workByUser(logs: readonly Log[]): Map<string, Work> {
  const work = new Map<string, Work>()
  for (const { runs, goneAt = Infinity } of logs) {
    for (const { user, start, end = goneAt } of runs) {
      if (end === Infinity) throw new Error(`a handler of ${user} has not ended`)
      const sum = work.get(user) ?? { ms: 0, requests: 0 }
      sum.ms += (end - start) / 1_000
      sum.requests++
      work.set(user, sum)
    }
  }
  return work
}
