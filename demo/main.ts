// npm start. PORT (default 3000), REDIS_URL (default: this process's memory), LIMIT_MS and WINDOW_MS (18 s in 60 s).
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { redisStore } from 'express-tollgate'
import { type Demo, demo } from './app'
import { pasteLines } from './paste-lines'
import { users } from './sign-in-server'

const { PORT = '3000', LIMIT_MS = '18000', WINDOW_MS = '60000', REDIS_URL } = process.env
const limitMs = Number(LIMIT_MS)
const windowMs = Number(WINDOW_MS)

const server = createServer()
let running: Demo | undefined
server.on('error', failed)
server.listen(Number(PORT), '127.0.0.1', () => {
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  running = demo({ origin, limitMs, windowMs, ...(REDIS_URL && { store: redisStore(REDIS_URL) }) })
  server.on('request', running.app)
  say(origin).catch(failed)
})

async function say(origin: string): Promise<void> {
  const lines = await pasteLines(origin, limitMs, windowMs)
  console.log(
    `The demo listens on ${origin}, its windows are ${REDIS_URL ? 'in Redis' : 'in memory'}. Tokens last an hour.`,
  )
  console.log(`\n# try it all in a browser, signed in as one of these:\n${origin}/`)
  for (const { username, password } of users) console.log(`#   ${username} / ${password}`)
  console.log(`\n# or see no more than how an app signs somebody in:\n${origin}/login`)
  for (const { shows, command } of lines) console.log(`\n# ${shows}\n${command}`)
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)

/** Requests under way are answered; then what is not published yet is published. */
function stop(): void {
  server.close(() => {
    const closed = running?.close() ?? Promise.resolve()
    closed.then(() => console.log('\nThe demo has stopped.'), failed)
  })
  server.closeIdleConnections()
}

function failed(err: unknown): void {
  const taken = (err as NodeJS.ErrnoException).code === 'EADDRINUSE'
  console.error(taken ? `Port ${PORT} is in use; try PORT=3001 npm start` : err)
  process.exit(1)
}
