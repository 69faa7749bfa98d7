// npm start. CONTRIBUTING.md has the variables that set it up.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Demo, demo } from './app'
import { MCP_PATH } from './mcp'
import { overRedis } from './over-redis'
import { FIELDS, pasteLines, shellVariables } from './paste-lines'
import { type Settings, settingsIn } from './settings'
import { users } from './sign-in-server'

const settings = settingsOrExit()
const { port, redisUrl, dialect, limitMs, windowMs } = settings

const server = createServer()
let running: Demo | undefined
let closeShared: (() => void) | undefined
let folder: string | undefined
server.on('error', failed)
start().catch(failed)

async function start(): Promise<void> {
  const shared = redisUrl === undefined ? undefined : await overRedis(redisUrl)
  closeShared = () => void shared?.close()
  server.listen(port, '127.0.0.1', () => {
    const origin = settings.origin ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    running = demo({ origin, dialect, limitMs, windowMs, isBehindProxy: settings.origin !== undefined, ...shared })
    server.on('request', running.app)
    print(origin).catch(failed)
  })
}

async function print(origin: string): Promise<void> {
  const variables = await shellVariables(origin)
  const requests = pasteLines(limitMs, windowMs).map(({ shows, command }) => `# ${shows}\n${command}\n`)
  const tokens = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`)
  const names = users.map(({ username, password }) => `${username} / ${password}`)
  console.log(`The demo of express-tollgate listens on ${origin}, its windows are in ${redisUrl ? 'Redis' : 'memory'}.

Open ${origin}/
  sign in as one of:      ${names.join(', ')}
  the dashboard, as ada:  ${origin}/admin/throttle/
  an app that signs in:   ${origin}/login
  an MCP server:          ${origin}${MCP_PATH}

In a shell, with tokens that are good for an hour:
. ${keep('tokens.sh', tokens.join(''))}
less ${keep('requests.txt', [FIELDS, ...requests].join('\n'))}`)
}

/** Writes what would fill the screen to a file that only this user can read. */
function keep(name: string, text: string): string {
  folder ??= mkdtempSync(join(tmpdir(), 'tollgate-demo-'))
  const file = join(folder, name)
  writeFileSync(file, text, { mode: 0o600 })
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
