// One process of an API whose handlers call another service: started by processes.spec.ts, heard on its output.
import type { AddressInfo } from 'node:net'
import express from 'express'
import { type ThrottleOptions, redisStore, throttle } from '../../../lib'

const { redis, service, options } = JSON.parse(process.argv[2] as string) as {
  redis: string
  service: string
  options: ThrottleOptions
}
const say = (what: string) => void process.stdout.write(`${what}\n`)
const app = express()
app.use((req, _res, next) => {
  say(`asked ${req.path}`)
  next()
})
const store = redisStore(redis, { deadlineMs: 500 }) // a busy machine is no outage
const throttled = throttle({ ...options, store, subject: () => 'ada' })
app.use(throttled)
app.use(async (req, res) => {
  say(`began ${req.path}`)
  await fetch(service)
  res.end()
})
void throttled.ready().then(() => {
  const server = app.listen(0, '127.0.0.1', () => say(`port ${(server.address() as AddressInfo).port}`))
  server.keepAliveTimeout = 0
})
