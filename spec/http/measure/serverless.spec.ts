import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import serverlessExpress from '@codegenie/serverless-express'
import express from 'express'
import serverless from 'serverless-http'
import { type ChargedMessage, addressSubject, throttle } from '../../../lib'

/** An API Gateway's event (payload 2.0). */
const event = (path: string) => ({
  ...{ version: '2.0', routeKey: '$default', rawPath: path, rawQueryString: '', isBase64Encoded: false },
  headers: { host: 'api.example.org', 'x-forwarded-for': '203.0.113.9' },
  requestContext: {
    ...{ stage: '$default', timeEpoch: 1, domainName: 'api.example.org' },
    http: { method: 'GET', path, sourceIp: '203.0.113.9', protocol: 'HTTP/1.1' },
  },
})
type Handler = (event: object, context: object) => Promise<{ statusCode: number; body: string; headers?: object }>

const codegenie = serverlessExpress as unknown as (options: { app: express.Express }) => Handler
const ADAPTERS: [name: string, handlerOf: (app: express.Express) => Handler][] = [
  ['serverless-http', serverless as unknown as (app: express.Express) => Handler],
  ['@codegenie/serverless-express', (app) => codegenie({ app })],
]
const WORK_MS = 1_000

function chargedMs(t: TestContext): () => number {
  let ms = 0
  const note = (message: unknown) => void (ms += (message as ChargedMessage).chargedMs)
  subscribe('express-tollgate:charged', note)
  t.after(() => unsubscribe('express-tollgate:charged', note))
  return () => ms
}

for (const [name, handlerOf] of ADAPTERS) {
  describe(`through ${name}`, () => {
    const app = express().set('trust proxy', 1).use(throttle())
    app.get('/json', async (_req, res) => {
      await sleep(WORK_MS)
      res.json({ done: true })
    })
    app.get('/streamed', async (_req, res) => {
      res.write('a')
      await sleep(WORK_MS)
      res.end('b')
    })
    app.get('/who', (req, res) => void res.send(addressSubject(req)))
    const handler = handlerOf(app)

    for (const path of ['/json', '/streamed']) {
      it(`work costs its time: ${path}`, async (t) => {
        const charged = chargedMs(t)
        assert.equal((await handler(event(path), {})).statusCode, 200)
        t.diagnostic(`${charged()} ms`)
        assert.ok(charged() >= WORK_MS - 10, `${charged()} ms`) // a timer may fire a little early
        assert.ok(charged() < 5 * WORK_MS, `${charged()} ms`)
      })
    }

    it('the address is that of the client', async () => {
      assert.equal((await handler(event('/who'), {})).body, 'address:203.0.113.9')
    })

    it('a refusal is 429 with Retry-After', async () => {
      const spent = express().use(throttle({ limitMs: 1, windowMs: 86_400_000, subject: () => 'ada' }))
      spent.get('/', (req, res) => {
        req.throttle?.charge(1_000)
        res.end()
      })
      const ask = handlerOf(spent)
      await ask(event('/'), {})
      const { statusCode, headers } = await ask(event('/'), {})
      assert.equal(statusCode, 429)
      assert.ok(Object.keys(headers ?? {}).includes('retry-after'))
    })
  })
}
