// npm start. PORT (default 3000), ORIGIN (default: http://127.0.0.1 and the port), REDIS_URL (default: this process's
// memory), LIMIT_MS and WINDOW_MS (18 s in 60 s).
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Demo, demo } from './app'
import { MCP_PATH } from './mcp'
import { overRedis } from './over-redis'
import { pasteLines, shellVariables } from './paste-lines'
import { type Settings, settingsIn } from './settings'
import { users } from './sign-in-server'

const settings = settingsOrExit()
const { port, redisUrl, limitMs, windowMs } = settings

const server = createServer()
let running: Demo | undefined
let closeShared: (() => void) | undefined
let folder: string | undefined
server.on('error', failed)
start().catch(failed)

async function start(): Promise<void> {
  const shared = redisUrl === undefined ? undefined : await overRedis(redisUrl)
  closeShared = () => shared?.close()
  server.listen(port, '127.0.0.1', () => {
    const origin = settings.origin ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    running = demo({ origin, limitMs, windowMs, isBehindProxy: settings.origin !== undefined, ...shared })
    server.on('request', running.app)
    print(origin).catch(failed)
  })
}

async function print(origin: string): Promise<void> {
  const variables = await shellVariables(origin)
  const file = keep(variables)
  console.log(
    `The demo of express-tollgate listens on ${origin}, its windows are ${redisUrl ? 'in Redis' : 'in memory'}.`,
  )
  console.log('\n# try it all in a browser, signed in as one of these:')
  console.log(`${origin}/`)
  for (const { username, password } of users) {
    console.log(`#   ${username} / ${password}${username === 'mary' ? ', who has yet to accept the terms' : ''}`)
  }
  console.log(`\n# watch who is spending time, signed in as ada:\n${origin}/admin/throttle/`)
  console.log(`\n# connect an MCP client, which registers itself:\n${origin}${MCP_PATH}`)
  console.log(`\n# or see no more than how an app signs somebody in:\n${origin}/login`)
  const names = Object.keys(variables).map((name) => `$${name}`)
  console.log(`\n# for the lines below, good for an hour:\n#   ${names.join(', ')}`)
  console.log(`. ${file}`)
  for (const { shows, command } of pasteLines(limitMs, windowMs)) console.log(`\n# ${shows}\n${command}`)
}

/** Writes the variables to a file that only this user can read: tokens of 800 characters would fill the screen. */
function keep(variables: Readonly<Record<string, string>>): string {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-demo-'))
  const file = join(folder, 'tokens.sh')
  const lines = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`)
  writeFileSync(file, lines.join(''), { mode: 0o600 })
  return file
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
process.on('exit', () => {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
})

/** Answers running requests, then publishes the remaining figures. */
function stop(): void {
  running?.end()
  server.close(() => {
    const closed = running?.close() ?? Promise.resolve()
    closed.then(() => {
      closeShared?.()
      console.log('\nThe demo has stopped.')
    }, failed)
  })
  server.closeIdleConnections()
}

function settingsOrExit(): Settings {
  try {
    return settingsIn(process.env)
  } catch (err) {
    console.error((err as Error).message)
    process.exit(1)
  }
}

function failed(err: unknown): void {
  const taken = (err as NodeJS.ErrnoException).code === 'EADDRINUSE'
  console.error(taken ? `Port ${port} is in use; try PORT=3001 npm start` : err)
  process.exit(1)
}
