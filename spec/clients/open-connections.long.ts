import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { createClient } from 'graphql-ws'
import { io } from 'socket.io-client'
import { WebSocket } from 'ws'
import { redisRevocations } from '../../lib'
import { devIssuer } from '../../lib/testing'
import { page } from '../support/markdown'
import { TYPESCRIPT } from '../support/typescript'
import { withOptions } from './recipe-files'

const dev = devIssuer()
const redis = `redis://127.0.0.1:${process.env.SPEC_REDIS_PORT}`
const prefix = `open-${process.pid}:`
const revocation = redisRevocations(redis, { prefix })
const home = join(process.cwd(), 'spec/clients/.cache', `open-${process.pid}`)
mkdirSync(home, { recursive: true })
after(async () => {
  rmSync(home, { recursive: true, force: true })
  await revocation.close()
})

const OPTIONS = `
import { redisRevocations } from 'express-tollgate'
const revocation = redisRevocations('${redis}', { prefix: '${prefix}' })
const options = { ...${JSON.stringify({ ...dev.options, warnings: false })}, revocation }
process.once('disconnect', () => process.exit())`
const listening = (server: string) => `${server}.listen(0, '127.0.0.1', () => process.send?.(server.address().port))`
const sample = (path: string, wanted: string) =>
  page(process.cwd(), path).blocks.find(({ file, heading }) => file === wanted || heading === wanted)?.text ?? ''
const recipe = (path: string, file: string) =>
  withOptions(sample(path, file), OPTIONS).replace('// server.listen(3000)', listening('server'))

/** The sample of event streams, and a subscription of Yoga behind its middleware. */
const STREAMS = `${OPTIONS}
import express from 'express'
import { requireBearer } from 'express-tollgate'
import { createSchema, createYoga } from 'graphql-yoga'
import { setInterval as every } from 'node:timers/promises'
const app = express().use(requireBearer(options))
${sample('docs/bearer.md', 'Connections that outlive a request')}
const subscribe = async function* () { for await (const tick of every(100, 'tick')) yield { tick } }
const typeDefs = 'type Query { tick: String } type Subscription { tick: String }'
const schema = createSchema({ typeDefs, resolvers: { Subscription: { tick: { subscribe } } } })
app.use('/graphql', closesWithToken, createYoga({ schema }))
const server = ${listening('app')}`

/** Runs a server in a process of its own. */
async function portOf(name: string, source: string): Promise<number> {
  const file = join(home, `${name}.ts`)
  writeFileSync(file, source)
  const child: ChildProcess = fork(file, { execArgv: TYPESCRIPT, env: { ...process.env, NODE_OPTIONS: '' } })
  after(() => child.kill())
  const [port] = (await once(child, 'message')) as [number]
  return port
}

/** An open connection, of which a message has come. */
interface Open {
  /** What its client hears of the end. */
  readonly ended: Promise<unknown>
  /** Resolves with the next message. */
  heard(): Promise<unknown>
}

async function webSocket(port: number, token: string): Promise<Open> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`, ['chat.v1', `bearer.${token}`])
  const ended = new Promise((resolve) => socket.on('close', resolve))
  await once(socket, 'open')
  return { ended, heard: () => (socket.send('who am I?'), once(socket, 'message')) }
}

async function socketIo(port: number, token: string): Promise<Open> {
  const socket = io(`http://127.0.0.1:${port}`, { auth: { token }, transports: ['websocket'], reconnection: false })
  const ended = new Promise((resolve) => socket.on('disconnect', resolve))
  await new Promise((resolve) => socket.on('connect', () => resolve(undefined)))
  return { ended, heard: () => socket.emitWithAck('search', 'ada') }
}

function graphqlWs(port: number, token: string): Promise<Open> {
  let end: (code: number) => void = () => undefined
  const ended = new Promise((resolve) => (end = resolve))
  const client = createClient({
    ...{ url: `ws://127.0.0.1:${port}/graphql`, webSocketImpl: WebSocket, retryAttempts: 0 },
    connectionParams: { authorization: `Bearer ${token}` },
    on: { closed: (event) => end((event as CloseEvent).code) },
  })
  const ticks = client.iterate({ query: 'subscription { tick }' })
  return Promise.resolve({ ended, heard: () => ticks.next() })
}

/** A stream of server-sent events. */
async function stream(url: string, token: string, init: RequestInit = {}): Promise<Open> {
  const { body } = await fetch(url, {
    ...init,
    headers: { Accept: 'text/event-stream', Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
  })
  const reader = body?.getReader()
  let end: (value: unknown) => void = () => undefined
  const ended = new Promise((resolve) => (end = resolve))
  reader?.closed.catch((cause: Error) => end(cause.message))
  return { ended, heard: async () => reader?.read() }
}

const body = JSON.stringify({ query: 'subscription { tick }' })
const streams = portOf('streams', STREAMS)
const CONNECTIONS: Record<
  string,
  [port: Promise<number>, open: (port: number, token: string) => Promise<Open>, ended: unknown]
> = {
  'a WebSocket': [portOf('ws', recipe('docs/websockets.md', 'ws.ts')), webSocket, 4401],
  'a socket of Socket.IO': [
    portOf('io', recipe('docs/websockets.md', 'socket-io.ts')),
    socketIo,
    'io server disconnect',
  ],
  'a subscription of graphql-ws': [portOf('graphql', recipe('docs/graphql.md', 'graphql-ws.ts')), graphqlWs, 4403],
  'an event stream': [streams, (port, token) => stream(`http://127.0.0.1:${port}/events`, token), 'terminated'],
  'a subscription of GraphQL Yoga': [
    streams,
    (port, token) => stream(`http://127.0.0.1:${port}/graphql`, token, { method: 'POST', body }),
    'terminated',
  ],
}

describe('a revocation closes, in another process,', () => {
  for (const [name, [port, open, expected]] of Object.entries(CONNECTIONS)) {
    it(`${name}, and none of another user`, async (t) => {
      const [ada, eve] = (await Promise.all(
        ['ada', 'eve'].map(async (user) => open(await port, dev.token(`${user} of ${name}`))),
      )) as [Open, Open]
      for (const each of [ada, eve]) assert.ok(await each.heard())
      const begin = performance.now()
      await revocation.revokeSubject(dev.issuer, `ada of ${name}`)
      assert.equal(await ada.ended, expected)
      t.diagnostic(`closed after ${Math.round(performance.now() - begin)} ms`)
      assert.ok(await eve.heard())
    })
  }
})
