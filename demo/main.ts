// npm start. PORT (default 3000), REDIS_URL (default: this process's memory), LIMIT_MS and WINDOW_MS (18 s in 60 s).
import type { AddressInfo } from 'node:net'
import { redisStore } from 'express-tollgate'
import { devIssuer } from 'express-tollgate/testing'
import { demo } from './app'
import { pasteLines } from './paste-lines'

const { PORT = '3000', LIMIT_MS = '18000', WINDOW_MS = '60000', REDIS_URL } = process.env
const limitMs = Number(LIMIT_MS)
const windowMs = Number(WINDOW_MS)
const issuer = devIssuer()
const { app, throttled } = demo({ issuer, limitMs, windowMs, ...(REDIS_URL && { store: redisStore(REDIS_URL) }) })

const server = app.listen(Number(PORT), '127.0.0.1', (err?: Error) => {
  if (err) return failed(err)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  console.log(
    `The demo listens on ${url}, its windows are ${REDIS_URL ? 'in Redis' : 'in memory'}. Tokens last an hour.`,
  )
  for (const { shows, command } of pasteLines(url, issuer, limitMs, windowMs)) console.log(`\n# ${shows}\n${command}`)
})
server.on('error', failed)

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)

/** Requests under way are answered; then what is not published yet is published. */
function stop(): void {
  server.close(() => {
    throttled.close().then(() => console.log('\nThe demo has stopped.'), failed)
  })
}

function failed(err: unknown): void {
  const taken = (err as NodeJS.ErrnoException).code === 'EADDRINUSE'
  console.error(taken ? `Port ${PORT} is in use; try PORT=3001 npm start` : err)
  process.exit(1)
}
