/** A route's expected processing time: a moving average of what its requests took. */
export interface Estimate {
  /** Microseconds; undefined until a request has ended. */
  us: number | undefined
  samples: number
}

/** The average follows the last so many requests. */
const MEMORY = 16
/** Routes told apart; what comes later shares one estimate. */
const MOST_ROUTES = 512
/** Paths remembered as they came, so that a path is not taken apart at every request. */
const MOST_PATHS = 2_048
const LONGEST_PATH = 512

/** What the requests of one window are expected to take, by method and path, bounded whatever paths are asked for. */
export class Estimates {
  readonly #routes = new Map<string, Estimate>()
  readonly #paths = new Map<string, Estimate>()
  readonly #rest: Estimate = { us: undefined, samples: 0 }

  of(method: string, path: string): Estimate {
    const asked = `${method} ${path}`
    const known = this.#paths.get(asked)
    if (known !== undefined) return known
    const estimate = this.#route(path.length > LONGEST_PATH ? method : `${method} ${folded(path)}`)
    if (this.#paths.size >= MOST_PATHS) this.#paths.clear()
    if (path.length <= LONGEST_PATH) this.#paths.set(asked, estimate)
    return estimate
  }

  #route(route: string): Estimate {
    let estimate = this.#routes.get(route)
    if (estimate !== undefined) return estimate
    if (this.#routes.size >= MOST_ROUTES) return this.#rest
    estimate = { us: undefined, samples: 0 }
    this.#routes.set(route, estimate)
    return estimate
  }
}

/** Takes a request's processing time into the estimate. */
export function learn(estimate: Estimate, us: number): void {
  estimate.samples = Math.min(estimate.samples + 1, MEMORY)
  estimate.us = Math.round((estimate.us ?? 0) + (us - (estimate.us ?? 0)) / estimate.samples)
}

/** The path with segments that look like identifiers made one: `/persons/L5FW-N8K` → `/persons/:`. */
export function folded(path: string): string {
  return path
    .split('/')
    .map((segment) =>
      /^[a-z][a-z_.-]{0,31}$/i.test(segment) && !/^[A-Z-]{4,}$/.test(segment) ? segment : segment && ':',
    )
    .join('/')
}
