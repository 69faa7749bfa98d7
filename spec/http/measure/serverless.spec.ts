// Adapters of serverless platforms: work is charged, and refusals and addresses are right.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import serverlessExpress from '@codegenie/serverless-express'
import express from 'express'
import serverless from 'serverless-http'
import { type ChargedMessage, addressSubject, throttle } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { heard } from '../../support/heard'

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

for (const [name, handlerOf] of ADAPTERS) {
  describe(`through ${name}`, () => {
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const app = express().set('trust proxy', 1).use(throttle({ clock }))
    app.get('/json', async (_req, res) => {
      await setImmediate()
      clock.advance(WORK_MS)
      res.json({ done: true })
    })
    app.get('/streamed', async (_req, res) => {
      res.on('drain', () => undefined)
      res.write('a'.repeat(100_000))
      await setImmediate()
      clock.advance(WORK_MS)
      res.end('b')
    })
    app.get('/who', (req, res) => void res.send(addressSubject(req)))
    const handler = handlerOf(app)

    for (const path of ['/json', '/streamed']) {
      it(`work costs its time: ${path}`, async (t) => {
        const told = heard<ChargedMessage>(t, 'charged')
        assert.equal((await handler(event(path), {})).statusCode, 200)
        const chargedMs = told.reduce((sum, one) => sum + one.chargedMs, 0)
        assert.equal(chargedMs, WORK_MS)
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
