// An API in a process of its own that knows nothing of the authorization server but its issuer. Its time is the spec's.
import type { AddressInfo } from 'node:net'
import express from 'express'
import { requireBearer } from '../../../lib'
import { manualClock } from '../../../lib/testing'

const { issuer, date } = JSON.parse(process.argv[2] as string) as { issuer: string; date: number }
const clock = manualClock(date)
const app = express()
app.post('/advance/:ms', (req, res) => {
  clock.advance(Number(req.params.ms))
  res.end()
})
app.use(requireBearer({ issuer, audience: issuer, clock }))
app.get('/', (req, res) => void res.json({ kind: req.auth?.kind, sub: req.auth?.sub }))
const http = app.listen(0, '127.0.0.1', () => console.log((http.address() as AddressInfo).port))
