// What an app keeps in AsyncLocalStorage, such as a request's id or its trace, must be the request's own after every
// middleware here, whoever else's answer or which timer it was that let the request go on.
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { type TestContext, describe, it } from 'node:test'
import express, { type RequestHandler } from 'express'
import { redisStore, requireBearer, throttle } from '../lib'
import { askingStore } from './support/asking-store'
import { keyPair, serveIssuer } from './support/issuer'
import { type Answer, serve } from './support/serve'
import { redisOfSuite } from './support/redis'

const context = new AsyncLocalStorage<string>()
const ids = Array.from({ length: 40 }, (_, i) => String(i))

async function api(...handlers: RequestHandler[]) {
  const app = express()
  app.use((req, _res, next) => context.run(req.get('X-Id') as string, next))
  app.use(...handlers)
  app.get('/', (_req, res) => void res.json(context.getStore()))
  const { get } = await serve(app)
  return (headers: Record<string, string> = {}): Promise<Answer[]> =>
    Promise.all(ids.map((id) => get('/', { 'X-Id': id, ...headers })))
}

function eachItsOwn(answers: readonly Answer[]): void {
  assert.deepEqual(
    answers.map(({ body }) => JSON.parse(body) as unknown),
    ids,
  )
}

describe('the async context of a request', () => {
  const own = redisOfSuite()

  function throttled(t: TestContext, subject: (id: string) => string) {
    const made = throttle({
      limitMs: 1_000_000,
      windowMs: 86_400_000,
      subject: (req) => subject(req.get('X-Id') as string),
      store: askingStore(redisStore(own.server.url)), // every admission asks
    })
    t.after(() => made.close())
    return made
  }

  it('stays its own where requests of one subject wait for one answer', async (t) => {
    const ask = await api(throttled(t, () => 'ada'))
    for (let i = 0; i < 5; i++) eachItsOwn(await ask())
  })

  it('stays its own where the questions of many subjects go together', async (t) => {
    const ask = await api(throttled(t, (id) => id))
    for (let i = 0; i < 5; i++) eachItsOwn(await ask())
  })

  it('stays its own where the store is silent and a deadline decides', async (t) => {
    const made = throttled(t, () => 'ada')
    const ask = await api(made)
    eachItsOwn(await ask())
    own.server.signal('SIGSTOP')
    try {
      eachItsOwn(await ask())
    } finally {
      own.server.signal('SIGCONT')
    }
  })

  it("stays its own where requests wait for one fetch of an issuer's keys", async () => {
    const { issuer, token } = await serveIssuer(keyPair('k1'))
    const ask = await api(requireBearer({ issuer, audience: 'api', algorithms: ['ES256'] }))
    eachItsOwn(await ask({ Authorization: `Bearer ${token()}` }))
  })
})
