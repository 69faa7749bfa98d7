import { RoutePrice } from './hold-prices'

/** Routes told apart; what comes later shares one price. */
const MOST_ROUTES = 512
/** Paths remembered as they came, so that a path is not taken apart at every request. */
const MOST_PATHS = 2_048
const LONGEST_PATH = 512

/** The routes of one window, by method and path, bounded whatever paths are asked for. */
export class RouteTable {
  readonly #routes = new Map<string, RoutePrice>()
  readonly #paths = new Map<string, RoutePrice>()
  readonly #rest = new RoutePrice()

  /** The route's price, made on first use. */
  of(method: string, path: string): RoutePrice {
    const asked = `${method} ${path}`
    const known = this.#paths.get(asked)
    if (known !== undefined) return known
    const price = this.#route(path.length > LONGEST_PATH ? method : `${method} ${folded(path)}`)
    if (this.#paths.size >= MOST_PATHS) this.#paths.clear()
    if (path.length <= LONGEST_PATH) this.#paths.set(asked, price)
    return price
  }

  #route(route: string): RoutePrice {
    let price = this.#routes.get(route)
    if (price !== undefined) return price
    if (this.#routes.size >= MOST_ROUTES) return this.#rest
    price = new RoutePrice()
    this.#routes.set(route, price)
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
