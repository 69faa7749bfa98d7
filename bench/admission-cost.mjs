// What a request costs where throttle() admits it from memory: forked as bench/admission-cost.mjs LOAD dist/index.js, it
// answers each message with µs of processor time, over some thousand requests. They go through Node's HTTP server, over a
// connection that is no socket: what the kernel does is not measured. Each comes when the one before is done with, as over
// a connection that is kept alive. One load in a process: what V8 learns of another would slow it down.
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import express from 'express'

const REQUESTS = 4_000
const USERS = 10_000

const USER = { bare: () => 'ada', 'one user': () => 'ada', '10,000 users': (i) => `user-${i % USERS}` }
const [load, entry] = process.argv.slice(2)
const { throttle } = createRequire(import.meta.url)(entry)
const terms = { limitMs: 86_400_000, windowMs: 2_592_000_000, subject: (req) => req.headers.user }
const ask = load === 'bare' ? connected() : connected(throttle(terms))
let asked = 0
process.on('message', async () => process.send(await slice(USER[load])))

/** An app behind the middleware; answers when one request has been answered. */
function connected(...middleware) {
  const app = express()
  app.disable('x-powered-by').disable('etag')
  for (const each of middleware) app.use(each)
  app.get('/work', (_req, res) => void res.end('ok'))
  const server = createServer(app)
  let answered
  const connection = new Duplex({
    read: () => undefined,
    write(chunk, _encoding, done) {
      done()
      if (chunk.includes('\r\n\r\nok')) answered()
    },
  })
  server.emit('connection', connection)
  return (user) =>
    new Promise((resolve) => {
      answered = resolve
      connection.push(`GET /work HTTP/1.1\r\nHost: a\r\nUser: ${user}\r\n\r\n`)
    })
}

async function slice(user) {
  const from = process.cpuUsage()
  for (let i = 0; i < REQUESTS; i++) {
    await ask(user(asked++))
    await setImmediate()
  }
  const { user: app, system } = process.cpuUsage(from)
  return (app + system) / REQUESTS
}
