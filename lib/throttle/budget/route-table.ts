import { RoutePrice } from './price'

/** Routes whose prices are kept; as many again that were used before them. */
const MOST_ROUTES = 512
/** Paths remembered as they came, so that a path is not taken apart at every request. */
const MOST_PATHS = 2_048
const LONGEST_PATH = 512

/** The routes of one policy, by method and path, bounded whatever paths are asked for. */
export class RouteTable {
  /** Routes that have answered something else than 404, and those not yet known to. */
  #kept = new Map<string, RoutePrice>()
  #earlier = new Map<string, RoutePrice>()
  #asked = new Map<string, RoutePrice>()
  /** By method, then by path: one text made of both would be a new one at every request. */
  readonly #paths = new Map<string, Map<string, RoutePrice>>()
  #remembered = 0

  /** The route's price, made on first use. It is forgotten soon unless it is kept. */
  of(method: string, path: string): RoutePrice {
    const known = this.#paths.get(method)?.get(path)
    if (known !== undefined) return known
    if (path.length > LONGEST_PATH) return this.#route(method)
    const price = this.#route(`${method} ${folded(path)}`)
    this.#remember(method, path, price)
    return price
  }

  /** The route exists: its price is kept until as many others have been used since. */
  keep(price: RoutePrice): void {
    const { route } = price
    if (this.#kept.get(route) === price) return
    if (this.#kept.size >= MOST_ROUTES) {
      this.#earlier = this.#kept
      this.#kept = new Map()
    }
    this.#kept.set(route, price)
    this.#asked.delete(route)
  }

  #remember(method: string, path: string, price: RoutePrice): void {
    if (this.#remembered++ >= MOST_PATHS) {
      this.#paths.clear()
      this.#remembered = 1
    }
    const paths = this.#paths.get(method)
    if (paths) paths.set(path, price)
    else this.#paths.set(method, new Map([[path, price]]))
  }

  #route(route: string): RoutePrice {
    const known = this.#kept.get(route) ?? this.#earlier.get(route) ?? this.#asked.get(route)
    if (known !== undefined) return known
    if (this.#asked.size >= MOST_ROUTES) this.#asked = new Map()
    const price = new RoutePrice(route)
    this.#asked.set(route, price)
    return price
  }
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
