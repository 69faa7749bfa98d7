import { shown } from '../../http/options'
import { warnOnce } from '../../http/warn-once'

/** Between a window's name, which is printable, and its terms. */
const SEPARATOR = '\t'

/** The terms of this process's windows by their names, as other processes over the store are told them. */
export class Terms {
  readonly #terms = new Map<string, string>()

  /** @param terms in words: `18000 ms in 60000 ms` */
  set(name: string, terms: string): void {
    this.#terms.set(name, terms)
  }

  delete(name: string): void {
    this.#terms.delete(name)
  }

  /** A text for each window. */
  get stated(): string[] {
    return [...this.#terms].map(([name, terms]) => name + SEPARATOR + terms)
  }

  /** Warns of windows that have other terms in another process. @param place where the store is */
  compare(stated: readonly string[], place: string | undefined): void {
    for (const text of stated) {
      const [name = '', theirs = ''] = text.split(SEPARATOR)
      const ours = this.#terms.get(name)
      if (ours === undefined || ours === theirs) continue
      warnOnce(
        'TOLLGATE_TERMS',
        `two processes over one store${place === undefined ? '' : `, ${place},`} have a window named ${shown(name)} with other ` +
          `terms: this one ${ours}, another one ${theirs}. If they are two apps, give one of them another prefix ` +
          '(redisStore(client, { prefix })) or its window another name; if they are one, give it the same terms everywhere',
        `TOLLGATE_TERMS ${text}`,
      )
    }
  }
}
