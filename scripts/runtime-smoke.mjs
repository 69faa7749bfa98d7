// Run by scripts/runtimes.mjs in another runtime than Node: a session is let in and charged, refused when its budget is
// spent, and an error is answered.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const express = require('express')
const { budgetOf, requireBearer, serviceUnavailable, sessionOf, throttle } = require('../dist/index.js')
const { devIssuer } = require('../dist/testing/index.js')

const WORK_MS = 100
const dev = devIssuer()
const app = express()
app.use(requireBearer(dev.options), throttle({ limitMs: 10_000 }))
app.get(
  '/',
  (req, res) => void setTimeout(() => res.json({ who: sessionOf(req).sub, spent: budgetOf(req).spentMs }), WORK_MS),
)
app.get('/spend', (req, res) => {
  budgetOf(req).charge(20_000)
  res.end()
})
app.get('/broken', () => {
  throw new Error('inside')
})
app.use(serviceUnavailable({ log: () => undefined }))
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${server.address().port}`
const ask = (path, who = 'ada') => fetch(url + path, { headers: { authorization: `Bearer ${dev.token(who)}` } })

assert.equal((await fetch(url)).status, 401)
const admitted = await ask('/')
const { who, spent } = await admitted.json()
assert.equal(who, 'ada')
assert.ok(spent >= WORK_MS - 5 && spent < 5_000, `${spent} ms`)
assert.equal((await ask('/broken')).status, 503)
await (await ask('/spend')).text()
const refused = await ask('/')
assert.equal(refused.status, 429)
assert.ok(Number(refused.headers.get('retry-after')) >= 1)
assert.equal((await ask('/', 'grace')).status, 200)
console.log('ok')
process.exit(0)
