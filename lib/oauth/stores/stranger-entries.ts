/** An entry of {@link StrangerEntries}. */
interface OfStranger {
  /** Who caused it; undefined: the server itself or a user, whose entries are not kept here. */
  readonly stranger: string | undefined
  readonly bytes: number
}

/** The entries of one stranger, oldest first. */
interface Holding<T> {
  bytes: number
  readonly entries: Set<T>
}

/**
 * The entries that strangers caused, by stranger. Finds the oldest one of the heaviest, to within a factor of two, in the
 * same time however many strangers there are.
 */
export class StrangerEntries<T extends OfStranger> {
  bytes = 0
  readonly #holdings = new Map<string, Holding<T>>()
  /** Holdings by the binary logarithm of their bytes. */
  readonly #bySize: Set<Holding<T>>[] = []

  add(entry: T): void {
    const { stranger } = entry
    if (stranger === undefined) return
    let holding = this.#holdings.get(stranger)
    if (!holding) this.#holdings.set(stranger, (holding = { bytes: 0, entries: new Set() }))
    holding.entries.add(entry)
    this.#resize(holding, entry.bytes)
  }

  remove(entry: T): void {
    const { stranger } = entry
    const holding = stranger === undefined ? undefined : this.#holdings.get(stranger)
    if (!holding?.entries.delete(entry)) return
    this.#resize(holding, -entry.bytes)
    if (holding.entries.size === 0) this.#holdings.delete(stranger as string)
  }

  oldestOfHeaviest(): T | undefined {
    const heaviest = this.#bySize.findLast((holdings) => holdings.size > 0)
    const [holding] = heaviest ?? []
    return holding?.entries.values().next().value
  }

  #resize(holding: Holding<T>, by: number): void {
    const [before, after] = [sizeOf(holding.bytes), sizeOf(holding.bytes + by)]
    holding.bytes += by
    this.bytes += by
    if (before === after) return
    this.#bySize[before]?.delete(holding)
    if (after > 0) this.#sizes(after).add(holding)
  }

  #sizes(size: number): Set<Holding<T>> {
    for (let i = this.#bySize.length; i <= size; i++) this.#bySize.push(new Set())
    return this.#bySize[size] as Set<Holding<T>>
  }
}

/** 0 for nothing. */
function sizeOf(bytes: number): number {
  return bytes === 0 ? 0 : 1 + Math.floor(Math.log2(bytes))
}
