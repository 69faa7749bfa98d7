import { OrderedMap } from './ordered-map'

/** What one owner has, oldest first. */
interface Holding<T> {
  weight: number
  readonly things: OrderedMap<T, number>
}

/** Classes of weight in an octave: weights of one class differ by a tenth at most, and those up to 10 not at all. */
const CLASSES = 8

/**
 * Who has how much of something scarce. An owner is whoever causes it to be kept or held: the block of addresses of a
 * stranger, a user, an app. Each step takes the same time, however many owners there are.
 */
export class Holdings<T> {
  /** Of all owners. */
  weight = 0
  readonly #holdings = new Map<string, Holding<T>>()
  /** Holdings by class of weight. */
  readonly #byClass: Set<Holding<T>>[] = []

  /** @param weight bytes, or 1 where things are counted */
  add(owner: string, thing: T, weight = 1): void {
    let holding = this.#holdings.get(owner)
    if (!holding) this.#holdings.set(owner, (holding = { weight: 0, things: new OrderedMap() }))
    holding.things.set(thing, weight)
    this.#weigh(holding, weight)
  }

  remove(owner: string, thing: T): void {
    const holding = this.#holdings.get(owner)
    const weight = holding?.things.get(thing)
    if (!holding || weight === undefined) return
    holding.things.delete(thing)
    this.#weigh(holding, -weight)
    if (holding.things.size === 0) this.#holdings.delete(owner)
  }

  /** What the owner has. */
  of(owner: string): number {
    return this.#holdings.get(owner)?.weight ?? 0
  }

  oldestOf(owner: string): T | undefined {
    return this.#holdings.get(owner)?.things.oldest
  }

  /** The oldest thing of the owner that has most, to within a tenth. */
  oldestOfHeaviest(): T | undefined {
    const [heaviest] = this.#byClass.findLast((holdings) => holdings.size > 0) ?? []
    return heaviest?.things.oldest
  }

  #weigh(holding: Holding<T>, by: number): void {
    const [before, after] = [classOf(holding.weight), classOf(holding.weight + by)]
    holding.weight += by
    this.weight += by
    if (before === after) return
    this.#byClass[before]?.delete(holding)
    for (let i = this.#byClass.length; i <= after; i++) this.#byClass.push(new Set())
    if (holding.weight > 0) this.#byClass[after]?.add(holding)
  }
}

/** 0 for nothing. */
function classOf(weight: number): number {
  return weight === 0 ? 0 : 1 + Math.floor(CLASSES * Math.log2(weight))
}

/** A value of {@link OwnedRecords}. */
interface OwnedRecord<V> {
  readonly name: string
  readonly owner: string
  readonly value: V
  readonly weight: number
}

/**
 * Values by name in this process's memory, up to a bound. Each has an owner. Beyond the bound, of the owner that has most,
 * the value that was used longest ago makes way.
 */
export class OwnedRecords<V> {
  readonly #records = new OrderedMap<string, OwnedRecord<V>>()
  readonly #holdings = new Holdings<OwnedRecord<V>>()

  /** @param most the weight of all values: their number, where each weighs 1 */
  constructor(readonly most: number) {}

  /** What the owner has. */
  of(owner: string): number {
    return this.#holdings.of(owner)
  }

  /** The value, which is the newest of its owner from now on. */
  get(name: string): V | undefined {
    const record = this.#records.get(name)
    if (record) this.set(name, record.value, record.owner, record.weight)
    return record?.value
  }

  /** Keeps the value, as the newest of its owner. It replaces an older one of the name, whoever owned that. */
  set(name: string, value: V, owner: string, weight = 1): void {
    this.delete(name)
    const record = { name, owner, value, weight }
    this.#records.set(name, record)
    this.#holdings.add(owner, record, weight)
    while (this.#holdings.weight > this.most) this.delete((this.#holdings.oldestOfHeaviest() as OwnedRecord<V>).name)
  }

  /** Drops the oldest one, of all or of an owner, if it is what may go. Tells whether it was. */
  dropOldest(mayGo: (value: V) => boolean, owner?: string): boolean {
    const oldest = owner === undefined ? this.#records.get(this.#records.oldest ?? '') : this.#holdings.oldestOf(owner)
    if (!oldest || !mayGo(oldest.value)) return false
    this.delete(oldest.name)
    return true
  }

  delete(name: string): void {
    const record = this.#records.get(name)
    if (!record) return
    this.#records.delete(name)
    this.#holdings.remove(record.owner, record)
  }
}
