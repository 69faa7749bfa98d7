/** An unknown route is priced at half the limit, but at most at this. Microseconds. */
const COLD_MOST_US = 3_000_000
/**
 * A subject's latest requests on a route that its own price follows; from so many on nothing else counts. Of those that
 * come at once the shortest end first: fewer of them would say little of the others.
 */
const OWN_SAMPLES = 8
/** Subjects whose latest requests the route's price follows, and from how many on it leaves the highest out. */
const ROUTE_SUBJECTS = 32
const ROUTE_ROBUST_FROM = 4
/** The share of a route's subjects whose price is left out: one in so many, rounded up. */
const OUTLIERS = 8
/** Subjects whose own history is kept in each of two generations, and routes kept of each subject. */
const MOST_SUBJECTS = 10_000
const MOST_ROUTES_OF_SUBJECT = 8

/** What a request of the route took, by subject: each subject counts once, by its latest. Processing time in µs. */
export class RoutePrice {
  /** The route's name in the store: a hash, as a path may name somebody. Empty: its price stays in this process. */
  readonly id: string
  readonly #subjects: string[] = []
  readonly #latestUs: number[] = []
  /** The place of the subject that has been known the longest: the next newcomer takes it. */
  #oldest = 0
  /** The figure that the route's price rests on; undefined where it is to be looked for again. */
  #highestUs: number | undefined
  /** What other processes, or an earlier one, found: stands in until this process knows enough subjects. */
  #importedUs: number | undefined
  #hasNews = false

  constructor(id = '') {
    this.id = id
  }

  /** How many subjects the price rests on. */
  get subjects(): number {
    return this.#subjects.length
  }

  /**
   * Takes in what a subject's request took.
   *
   * @param place what this said the last time, which spares a search; undefined where it was not asked for the subject
   * @returns where the subject's figure is now: a subject that is known keeps its place until a newcomer takes it
   */
  learn(subject: string, us: number, place = this.#subjects.indexOf(subject)): number {
    if (place < 0 || this.#subjects[place] !== subject) {
      place = this.#oldest
      this.#oldest = (this.#oldest + 1) % ROUTE_SUBJECTS
      this.#subjects[place] = subject
    }
    const replaced = this.#latestUs[place] ?? Infinity
    this.#latestUs[place] = us
    // Most requests neither are the highest figure nor take its place.
    if (this.#highestUs !== undefined && (replaced >= this.#highestUs || us > this.#highestUs)) {
      this.#highestUs = undefined
    }
    this.#hasNews = true
    return place
  }

  /** Takes over a price that rests on at least four subjects elsewhere. */
  import(us: number): void {
    this.#importedUs = us
  }

  /**
   * What other processes are to know, once. Undefined where nothing was learned since, or too few subjects are known for
   * a price that no single one of them can move.
   */
  takeNews(): number | undefined {
    if (!this.#hasNews || this.#subjects.length < ROUTE_ROBUST_FROM) return undefined
    this.#hasNews = false
    return this.#robust()
  }

  /** What any subject's request is expected to take at most; `coldUs` bounds what fewer than four subjects can say. */
  us(coldUs: number): number {
    if (this.#subjects.length >= ROUTE_ROBUST_FROM) return this.#robust()
    if (this.#importedUs !== undefined) return this.#importedUs
    if (this.#subjects.length === 0) return coldUs
    return Math.min(coldUs, this.#robust())
  }

  /** The highest figure, from four subjects on without the outliers, with a margin that shrinks as more are known. */
  #robust(): number {
    const known = this.#subjects.length
    if (this.#highestUs === undefined) {
      const leftOut = known < ROUTE_ROBUST_FROM ? 0 : Math.ceil(known / OUTLIERS)
      this.#highestUs = highestBut(leftOut, this.#latestUs)
    }
    return withMargin(this.#highestUs, known)
  }

  /** True where the price is not a guess any more. */
  get isKnown(): boolean {
    return this.#subjects.length >= ROUTE_ROBUST_FROM || this.#importedUs !== undefined
  }
}

/** One subject's latest requests on one route. */
class OwnHistory {
  /** All places from the start: an array that grows by one takes twice the room, and there may be many thousands. */
  readonly #samples = [0, 0, 0, 0, 0, 0, 0, 0]
  #known = 0
  #next = 0
  #mostUs = 0

  /** Where the route has the subject's latest figure. */
  place: number | undefined

  /** @param subject as it was first asked for: the route keeps that text, and not one of each request */
  constructor(
    readonly route: RoutePrice,
    readonly subject: string,
  ) {}

  get known(): number {
    return this.#known
  }

  /** What the subject's next request is expected to take at most. */
  get us(): number {
    return withMargin(this.#mostUs, this.#known)
  }

  learn(us: number): void {
    const replaced = this.#samples[this.#next] as number
    this.#samples[this.#next] = us
    this.#next = (this.#next + 1) % OWN_SAMPLES
    if (this.#known < OWN_SAMPLES) this.#known++
    this.#mostUs =
      us >= this.#mostUs || replaced < this.#mostUs ? Math.max(us, this.#mostUs) : Math.max(...this.#samples)
  }
}

const NONE: readonly OwnHistory[] = []

/**
 * What requests are expected to take at most, so that so much can be held while they run: by the subject's own history
 * on the route, else by a figure of the route in which each subject counts once, else cold. Nobody moves another
 * subject's price by more than one subject among the route's latest can. Pure; whole microseconds.
 */
export class Prices {
  #recent = new Map<string, readonly OwnHistory[]>()
  /** Those that were recent before these: who is not asked for until the next change of generations is forgotten. */
  #earlier = new Map<string, readonly OwnHistory[]>()

  /** The price of a request, at most `limitUs`. */
  of(route: RoutePrice, subject: string, limitUs: number): number {
    const own = historyOf(route, this.#recent.get(subject) ?? this.#earlier.get(subject))
    if (own !== undefined && own.known === OWN_SAMPLES) return Math.min(limitUs, own.us)
    const coldUs = Math.min(Math.floor(limitUs / 2), COLD_MOST_US)
    const known = own?.known ?? 0
    // A few short requests of the subject say little of its next where others' take longer: they may all come at once.
    const all = route.us(coldUs)
    const cold = route.isKnown ? 0 : coldUs / 2 ** (route.subjects + known)
    return Math.min(limitUs, Math.ceil(Math.max(own?.us ?? 0, all, cold)))
  }

  /** Takes in what a request took. */
  learn(route: RoutePrice, subject: string, us: number): void {
    const history = this.#history(subject, route)
    history.learn(us)
    history.place = route.learn(history.subject, us, history.place)
  }

  #history(subject: string, route: RoutePrice): OwnHistory {
    const recent = this.#recent.get(subject)
    const histories = recent ?? this.#earlier.get(subject) ?? NONE
    const known = historyOf(route, histories)
    if (recent !== undefined && known !== undefined) return known
    if (recent === undefined && this.#recent.size >= MOST_SUBJECTS) {
      this.#earlier = this.#recent
      this.#recent = new Map()
    }
    const history = known ?? new OwnHistory(route, subject)
    this.#recent.set(subject, known ? histories : [...histories.slice(1 - MOST_ROUTES_OF_SUBJECT), history])
    return history
  }
}

function historyOf(route: RoutePrice, histories: readonly OwnHistory[] | undefined): OwnHistory | undefined {
  if (histories === undefined) return undefined
  for (const history of histories) if (history.route === route) return history
  return undefined
}

/** The highest of some figures, but for so many higher ones. */
function highestBut(leftOut: number, figures: readonly number[]): number {
  const highest = new Array<number>(leftOut + 1).fill(0) // descending
  for (let figure of figures) {
    for (let i = 0; i <= leftOut && figure > 0; i++) {
      const known = highest[i] as number
      if (figure <= known) continue
      highest[i] = figure
      figure = known
    }
  }
  return highest[leftOut] as number
}

function withMargin(us: number, samples: number): number {
  return Math.ceil(us * (1 + 1 / samples))
}
