// A process of an API over Redis: it asks itself for time over HTTP as it is told, and counts what it was charged.
import { subscribe } from 'node:diagnostics_channel'
import { Agent, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { budgetOf, redisStore, throttle } from '../../lib'
import type { ChargedMessage } from '../../lib/throttle/events'

/** What the spec may ask for. Answered by what was charged so far, in milliseconds by subject. */
export type SpenderTask = { readonly spend: readonly (readonly [subject: string, ms: number])[] } | 'publish'

const AT_ONCE = 32
const [redis = '', terms = '{}'] = process.argv.slice(2)
const charged = new Map<string, number>()
subscribe('express-tollgate:charged', (message) => {
  const { subject, chargedMs } = message as ChargedMessage
  charged.set(subject, (charged.get(subject) ?? 0) + chargedMs)
})

const throttled = throttle({
  ...(JSON.parse(terms) as object),
  store: redisStore(redis),
  subject: (req) => String(req.get('x-user')),
})
const app = express().use(throttled)
app.get('/spend/:ms', (req, res) => {
  budgetOf(req).charge(Number(req.params.ms))
  res.end()
})
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
const server = app.listen(0, '127.0.0.1', () => void throttled.ready().then(() => process.send?.('ready')))

function spend(user: string, ms: number): Promise<void> {
  const { port } = server.address() as AddressInfo
  return new Promise((resolve, reject) => {
    get({ port, agent, path: `/spend/${ms}`, headers: { 'x-user': user } }, (res) => {
      res.resume().once('end', resolve)
    }).once('error', reject)
  })
}

process.on('message', (task: SpenderTask) => {
  void (async () => {
    const left = task === 'publish' ? [] : [...task.spend]
    const one = async () => {
      for (let next = left.pop(); next; next = left.pop()) await spend(...next)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, one))
    await throttled.flush()
    await throttled.advise() // writes what was counted
    process.send?.([...charged])
  })()
})
