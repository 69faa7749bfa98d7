/** An unknown route is priced at half the limit, but at most at this. Microseconds. */
const COLD_MOST_US = 3_000_000
/**
 * From eight requests of a subject on a route on, its price there rests on its latest eight to sixteen alone. Fewer would
 * say little of the next one: of requests that come at once the shortest end first.
 */
const OWN_SAMPLES = 8
/** Blocks whose latest requests the route's price follows, and from how many on it leaves the highest out. */
const ROUTE_BLOCKS = 32
const ROUTE_ROBUST_FROM = 4
/** Number of routes in a subject's history. */
const MOST_ROUTES_OF_SUBJECT = 8
/** The route's price leaves out one block in eight, rounded up: those with the highest figures. */
const OUTLIERS = 8

/** So many requests of a route that were written off, and so long, say that its handlers do not end what is left. */
const LEFT_MANY = 8
const LEFT_LONG_US = 60_000_000

/** A subject, and the block of networks of its first request. */
interface Payer {
  readonly subject: string
  readonly block: string
}

/** The window that a route's requests ask after another one, with the terms that the latest of them had there. */
export interface NextWindow {
  readonly accounts: { expect(from: Payer, next: NextWindow, now: number): void }
  readonly route: RoutePrice
  readonly limitUs: number
  readonly concurrency: number
}

/** What a request of the route took, by block of networks: each block counts once, by its latest. Processing time in µs. */
export class RoutePrice {
  readonly #blocks: string[] = []
  readonly #latestUs: number[] = []
  /** The place of the block that has been known the longest: the next newcomer takes it. */
  #oldest = 0
  /** The same figures, the highest first. */
  readonly #descendingUs: number[] = []
  /** Number of subjects so far. */
  subjects = 0
  /** Whether the price comes from figures and is no guess. */
  isKnown = false
  /** The window that the latest request asked next of the same server. */
  next: NextWindow | undefined = undefined
  /** The highest figure, from four blocks on without the outliers, with a margin that shrinks as more are known. */
  #robustUs = Infinity

  /** Requests whose clients left and whose handlers have not ended their responses since, and when the first of them was written off. */
  #left = 0
  #leftSince = 0

  /** @param route names it, such as `GET /persons/:` */
  constructor(readonly route = '') {}

  /**
   * Takes in what a request from this block took.
   *
   * @param place the index returned by a call before; undefined for the subject's first
   * @returns the index of the block's figure: a known block keeps it until a newcomer takes it
   */
  learn(block: string, us: number, place?: number): number {
    if (place === undefined) this.subjects++
    if (place === undefined || this.#blocks[place] !== block) place = this.#blocks.indexOf(block)
    if (place < 0) {
      place = this.#oldest
      this.#oldest = (this.#oldest + 1) % ROUTE_BLOCKS
      this.#blocks[place] = block
    }
    replaceIn(this.#descendingUs, this.#latestUs[place], us)
    this.#latestUs[place] = us
    const known = this.#blocks.length
    this.isKnown = known >= ROUTE_ROBUST_FROM
    const leftOut = this.isKnown ? Math.ceil(known / OUTLIERS) : 0
    this.#robustUs = withMargin(this.#descendingUs[leftOut] as number, Math.min(ROUTE_BLOCKS, this.subjects))
    return place
  }

  /** A request was written off unseen. Returns whether many were, and for long, and no handler ended one later. */
  leavesOpen(now: number): boolean {
    if (this.#left++ === 0) this.#leftSince = now
    return this.#left > LEFT_MANY && now - this.#leftSince > LEFT_LONG_US
  }

  /** A handler has ended its response after a write-off. */
  isEnded(): void {
    this.#left = 0
  }

  /** What any subject's request is expected to take at most; `coldUs` bounds what fewer than four blocks can say. */
  us(coldUs: number): number {
    return this.isKnown ? this.#robustUs : Math.min(coldUs, this.#robustUs)
  }
}

/**
 * One subject's latest requests on one route: the longest of the present eight, and of the eight before. Of several
 * routes each leads to the one that was new before it. Neither takes an array: where there are many subjects, a request
 * pays for each object that it looks at. Microseconds.
 */
class OwnHistory {
  /** Number of requests in the present eight. */
  #known = 0
  #mostUs = 0
  #earlierMostUs: number | undefined = undefined
  /** Number of requests behind the price. */
  known = 0
  /** What the longest of them took, and what the subject's next request is expected to take at most. */
  mostUs = 0
  us = 0
  /** Where the route has the latest figure of the subject's block. */
  place: number | undefined = undefined

  constructor(
    readonly route: RoutePrice,
    public older: OwnHistory | undefined,
  ) {}

  learn(us: number): void {
    if (this.#known === OWN_SAMPLES) {
      this.#earlierMostUs = this.#mostUs
      this.#known = this.#mostUs = 0
    }
    this.#known++
    this.#mostUs = Math.max(this.#mostUs, us)
    this.known = this.#earlierMostUs === undefined ? this.#known : OWN_SAMPLES
    this.mostUs = Math.max(this.#mostUs, this.#earlierMostUs ?? 0)
    this.us = withMargin(this.mostUs, this.known)
  }
}

/** One subject's histories, of the routes that it has used last. */
export type Histories = OwnHistory | undefined

/**
 * What a request is expected to take at most, and so what is held while it runs. It follows the subject's own history on
 * the route, else a figure of the route in which each block counts once, else a guess. So no block moves the price of
 * another by more than one figure among the route's latest. Whole microseconds, at most `limitUs`.
 */
export function priceOf(route: RoutePrice, histories: Histories, limitUs: number): number {
  const own = historyOf(route, histories)
  if (own?.known === OWN_SAMPLES) return Math.min(limitUs, own.us) // it says enough of the subject's next request
  const coldUs = guessUs(limitUs)
  const known = own?.known ?? 0
  // A few short requests of the subject say little of its next where others' take longer: they may all come at once.
  const all = route.us(coldUs)
  const cold = route.isKnown ? 0 : coldUs / 2 ** (route.subjects + known)
  return Math.min(limitUs, Math.ceil(Math.max(own?.us ?? 0, all, cold)))
}

/** What requests of the route take that have ended: the subject's own, else others'. Undefined where none has. */
export function takesUs(route: RoutePrice, histories: Histories, limitUs: number): number | undefined {
  const ownUs = historyOf(route, histories)?.mostUs
  return ownUs ?? (route.subjects > 0 ? route.us(guessUs(limitUs)) : undefined)
}

function guessUs(limitUs: number): number {
  return Math.min(Math.floor(limitUs / 2), COLD_MOST_US)
}

/** Whether too few requests are behind a price to estimate the subject's work. */
export function isGuess(route: RoutePrice, histories: Histories): boolean {
  return !route.isKnown && historyOf(route, histories) === undefined
}

/**
 * Takes in what a request took. Returns the subject's histories.
 *
 * @param block the same text each time: the route keeps it
 */
export function learnPrice(route: RoutePrice, block: string, histories: Histories, us: number): Histories {
  const known = historyOf(route, histories)
  const history = known ?? new OwnHistory(route, histories)
  history.learn(us)
  history.place = route.learn(block, us, history.place)
  if (known) return histories
  cutOff(history)
  return history
}

function historyOf(route: RoutePrice, histories: Histories): OwnHistory | undefined {
  let history = histories
  while (history !== undefined && history.route !== route) history = history.older
  return history
}

function cutOff(latest: OwnHistory): void {
  let history: Histories = latest
  for (let n = 1; n < MOST_ROUTES_OF_SUBJECT; n++) history = history?.older
  if (history) history.older = undefined
}

/** Puts `figure` in the place of `replaced`, or adds it if that is undefined. Keeps the highest first. */
function replaceIn(descending: number[], replaced: number | undefined, figure: number): void {
  let at = replaced === undefined ? descending.push(figure) - 1 : descending.indexOf(replaced)
  for (; at > 0 && (descending[at - 1] as number) < figure; at--) descending[at] = descending[at - 1] as number
  const last = descending.length - 1
  for (; at < last && (descending[at + 1] as number) > figure; at++) descending[at] = descending[at + 1] as number
  descending[at] = figure
}

/** Margin above the known figures: the fewer figures, the larger the margin. */
function withMargin(us: number, samples: number): number {
  return Math.ceil(us * (1 + 1 / samples))
}

/** Routes whose prices are kept; as many again that were used before them. */
const MOST_ROUTES = 512
/** Number of cached paths: a cached path is not parsed again. */
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
