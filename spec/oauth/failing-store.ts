import type { OAuthStore } from '../../lib/oauth'

/** A store of which one call fails: before it reaches the real store, or after it, so its reply is lost. */
export class FailingStore implements OAuthStore {
  #isToFail = (_call: string): boolean => false
  #isDone = false
  #hasFailed = false

  constructor(private readonly store: OAuthStore) {}

  /** @param call its number from now on, or how the next such call begins: `set code:` */
  failAt(call: number | string, isDone = false): void {
    let left = typeof call === 'number' ? call : 1
    this.#isToFail = (made) => (typeof call === 'number' || made.startsWith(call)) && --left === 0
    this.#isDone = isDone
    this.#hasFailed = false
  }

  /** Whether the call that was to fail has failed. No call fails afterwards. */
  hasFailed(): boolean {
    this.#isToFail = () => false
    return this.#hasFailed
  }

  readonly set: OAuthStore['set'] = (...args) => this.#pass(`set ${args[0]}`, () => this.store.set(...args))
  readonly get: OAuthStore['get'] = (...args) => this.#pass(`get ${args[0]}`, () => this.store.get(...args))
  readonly claim: OAuthStore['claim'] = (...args) => this.#pass(`claim ${args[0]}`, () => this.store.claim(...args))
  readonly count: OAuthStore['count'] = (...args) => this.#pass(`count ${args[0]}`, () => this.store.count(...args))

  async #pass<T>(call: string, make: () => Promise<T>): Promise<T> {
    const fails = this.#isToFail(call)
    this.#hasFailed ||= fails
    if (fails && !this.#isDone) throw new Error('connection lost')
    const reply = await make()
    if (fails) throw new Error('reply lost')
    return reply
  }
}
