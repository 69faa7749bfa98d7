/** A Map that knows its oldest key. To find that by `keys()` takes a look at each key that was deleted before it. */
export class OrderedMap<K, V> extends Map<K, V> {
  /** Iterates over the keys. The last one that it returned is `#oldest`. */
  #turn: MapIterator<K> | undefined
  #oldest: K | undefined

  /** The key that was added first. */
  get oldest(): K | undefined {
    if (this.#oldest === undefined && this.size > 0) this.#oldest = (this.#turn ??= this.keys()).next().value
    return this.#oldest
  }

  override delete(key: K): boolean {
    if (key === this.#oldest) this.#oldest = undefined
    return super.delete(key)
  }

  override clear(): void {
    this.#oldest = undefined
    super.clear()
  }
}
