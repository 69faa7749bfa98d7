import { createHash } from 'node:crypto'
import { RoutePrice } from '../window/hold-prices'

/** Routes told apart; what comes later shares one price. */
const MOST_ROUTES = 512
/** Paths remembered as they came, so that a path is not taken apart at every request. */
const MOST_PATHS = 2_048
const LONGEST_PATH = 512
/** A day: what another process says a request takes longer than that is no price. */
const MOST_US = 86_400_000_000

/** The routes of one window, by method and path, bounded whatever paths are asked for. */
export class RouteTable {
  readonly #routes = new Map<string, RoutePrice>()
  /** By method, then by path: one text made of both would be a new one at every request. */
  readonly #paths = new Map<string, Map<string, RoutePrice>>()
  #remembered = 0
  readonly #rest = new RoutePrice()
  /** What the store knows, by the routes' ids. */
  #imported: ReadonlyMap<string, number> = new Map()

  /** The route's price, made on first use. */
  of(method: string, path: string): RoutePrice {
    const known = this.#paths.get(method)?.get(path)
    if (known !== undefined) return known
    if (path.length > LONGEST_PATH) return this.#route(method)
    const price = this.#route(`${method} ${folded(path)}`)
    this.#remember(method, path, price)
    return price
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
    let price = this.#routes.get(route)
    if (price !== undefined) return price
    if (this.#routes.size >= MOST_ROUTES) return this.#rest
    price = new RoutePrice(routeId(route))
    this.#routes.set(route, price)
    this.#importInto(price)
    return price
  }

  /** Prices that other processes are to know, by the routes' ids; each is said once. */
  news(): Map<string, number> {
    const news = new Map<string, number>()
    for (const price of this.#routes.values()) {
      const us = price.takeNews()
      if (us !== undefined) news.set(price.id, us)
    }
    return news
  }

  /** True where a route was asked for whose price is a guess. */
  get hasUnknown(): boolean {
    for (const price of this.#routes.values()) if (!price.isKnown) return true
    return false
  }

  /** Takes over what other processes found, by the routes' ids; what is no price is left out. */
  import(known: ReadonlyMap<string, number>): void {
    this.#imported = known
    for (const price of this.#routes.values()) this.#importInto(price)
  }

  #importInto(price: RoutePrice): void {
    const us = this.#imported.get(price.id)
    if (us !== undefined && Number.isSafeInteger(us) && us >= 0 && us <= MOST_US) price.import(us)
  }
}

/** 96 bits of a hash: a path may hold what nobody is to read in the store. */
function routeId(route: string): string {
  return createHash('sha256').update(route).digest().toString('base64url', 0, 12)
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
