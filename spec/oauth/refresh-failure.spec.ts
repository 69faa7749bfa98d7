import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type OAuthStore, type ClosableOAuthStore, memoryOAuthStore, redisOAuthStore } from '../../lib/oauth'
import { answering } from '../support/answering'
import { databaseOfSuite } from '../support/redis'
import { AS_WEB, SIGNING_KEY, json, post, startServer } from './support'
import { codeForm } from './user-agent'

/** A store of which one call fails: before it reaches the real store, or after it, so its reply is lost. */
class FailingStore implements OAuthStore {
  readonly #store: OAuthStore
  #callsLeft = Infinity
  #isDone = false

  constructor(store: OAuthStore) {
    this.#store = store
  }

  failAt(call: number, isDone: boolean): void {
    this.#callsLeft = call
    this.#isDone = isDone
  }

  /** Whether the call that was to fail has failed. No call fails afterwards. */
  hasFailed(): boolean {
    const hasFailed = this.#callsLeft <= 0
    this.#callsLeft = Infinity
    return hasFailed
  }

  readonly set: OAuthStore['set'] = (...args) => this.#pass(() => this.#store.set(...args))
  readonly get: OAuthStore['get'] = (...args) => this.#pass(() => this.#store.get(...args))
  readonly claim: OAuthStore['claim'] = (...args) => this.#pass(() => this.#store.claim(...args))
  readonly count: OAuthStore['count'] = (...args) => this.#pass(() => this.#store.count(...args))

  async #pass<T>(call: () => Promise<T>): Promise<T> {
    const fails = --this.#callsLeft === 0
    if (fails && !this.#isDone) throw new Error('connection lost')
    const reply = await call()
    if (fails) throw new Error('reply lost')
    return reply
  }
}

describe('a refresh during which the store fails once', () => {
  const database = databaseOfSuite()
  let shared: ClosableOAuthStore
  before(async () => {
    shared = redisOAuthStore(database.url)
    await answering(shared)
  })
  after(() => shared.close())

  const stores = { memoryOAuthStore: () => memoryOAuthStore(), redisOAuthStore: () => shared }
  for (const [name, store] of Object.entries(stores)) {
    for (const format of ['jwt', 'opaque'] as const) {
      for (const isDone of [false, true]) {
        const when = isDone ? 'after it was done' : 'before it was done'
        it(`is completed by the retry: ${name}, ${format} tokens, each call failing ${when}`, async () => {
          const failing = new FailingStore(store())
          const running = await startServer({
            store: failing,
            signingKeys: [{ key: SIGNING_KEY }],
            accessTokens: { format },
            refreshTokens: { graceSec: 60 },
          })
          const refresh = (token: unknown) =>
            post(`${running.issuer}/token`, { grant_type: 'refresh_token', refresh_token: token as string }, AS_WEB)
          let token = (await json(await post(`${running.issuer}/token`, await codeForm(running.issuer), AS_WEB)))
            .refresh_token
          let call = 1
          for (; ; call++) {
            failing.failAt(call, isDone)
            const first = await refresh(token)
            if (!failing.hasFailed()) break
            assert.equal(first.status, 503, `call ${call}`)
            const retry = await refresh(token)
            assert.equal(retry.status, 200, `call ${call}`)
            const tokens = await json(retry)
            assert.notEqual(await running.server.verify(tokens.access_token as string), undefined)
            const next = await refresh(tokens.refresh_token)
            assert.equal(next.status, 200, `call ${call}: the token of the retry is dead`)
            token = (await json(next)).refresh_token
          }
          assert.ok(call > 4, `${call - 1} calls`)
          await running.close()
        })
      }
    }
  }
})
