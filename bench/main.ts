// npm run bench [-- --quick | --rounds N | --node=24] [QUESTION …]: answers the questions below, and prints the tables of
// docs/PERFORMANCE.md. --quick shows in half a minute that all of it works; its figures say nothing.
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { COLD_TOKENS, LOADS, type LoadName } from './loads'
import { type OverloadExtent, measureOverload } from './overload'
import type { Setup } from './contestants/setup'
import { type Extent, type Rounds, type Slice, measure } from './measure'
import type { ContestantName } from './server'
import { pinned, stayBesideServers } from './worker'

const FULL: Extent = { rounds: 9, sliceMs: 1_000, warmMs: 4_000, afterMs: 300 }
const QUICK: Extent = { rounds: 1, sliceMs: 100, warmMs: 50, afterMs: 20 }

const OVERLOADED: OverloadExtent = { capacityMs: 10_000, warmMs: 10_000, windowMs: 60_000, loadedMs: 60_000 }
const OVERLOADED_QUICK: OverloadExtent = { capacityMs: 250, warmMs: 200, windowMs: 200, loadedMs: 500 }

interface Question {
  readonly title: string
  readonly loads: readonly LoadName[]
  /** The first is what the others are compared with. */
  readonly contestants: readonly [ContestantName, ...ContestantName[]]
}

const LIMITERS = ['throttle()', 'express-rate-limit', 'rate-limiter-flexible'] as const
const all = (store: 'memory' | 'Redis') => LIMITERS.map((limiter) => `${limiter}, ${store}` as const)

const QUESTIONS: Readonly<Record<string, Question>> = {
  memory: {
    title: 'What does a limit cost, in memory?',
    loads: ['one user', '10,000 users'],
    contestants: ['bare Express', 'bare Express, with the fields', ...all('memory')],
  },
  redis: {
    title: 'What does a limit cost, over Redis?',
    loads: ['one user', '10,000 users'],
    contestants: ['bare Express', 'bare Express, with the fields', ...all('Redis')],
  },
  asking: {
    title: 'What does a limit cost where every request asks Redis?',
    loads: ['100,000 users'],
    contestants: ['bare Express', ...all('Redis')],
  },
  commands: {
    title: 'How many commands does a request send to Redis?',
    loads: ['one user', '10,000 users'],
    contestants: [
      'throttle(), Redis, handler of 0.2 ms',
      'throttle(), Redis, handler of 5 ms',
      'throttle(), Redis, handler of 20 ms',
      'throttle(), Redis, handler of 200 ms',
    ],
  },
  refused: {
    title: 'What does a refusal cost?',
    loads: ['refused'],
    contestants: [
      'bare Express, 429',
      'throttle(), memory, refusing',
      'express-rate-limit, memory, refusing',
      'throttle(), Redis, refusing',
      'express-rate-limit, Redis, refusing',
    ],
  },
  bearer: {
    title: 'What does a token cost that was seen before (RS256)?',
    loads: ['one token'],
    contestants: [
      'bare Express',
      'requireBearer()',
      'fast-jwt, cached',
      'express-oauth2-jwt-bearer',
      'express-jwt + jwks-rsa',
      'requireBearer() + throttle(), Redis',
    ],
  },
  cold: {
    title: 'What does a new token cost (RS256)?',
    loads: ['1,000 tokens'],
    contestants: ['bare Express', 'requireBearer(), nothing cached', 'express-oauth2-jwt-bearer'],
  },
  tokens: {
    title: 'What does it cost to issue a token (client credentials)?',
    loads: ['client credentials'],
    contestants: [
      'bare Express',
      'authorizationServer(), RS256',
      'authorizationServer(), ES256',
      'oidc-provider, RS256',
      '@node-oauth/oauth2-server, RS256',
    ],
  },
}

const OVERLOAD = 'overload'
/** By what handlers do. The first is bare Express. */
const AT_WORK = {
  'that block for 5 ms': ['bare Express, blocking', 'toobusy-js, blocking', 'throttle(), overload: true, blocking'],
  'that wait 50 ms on a pool of 20': [
    ...(['bare Express, pool', 'toobusy-js, pool', 'throttle(), overload: true, pool'] as const),
    'throttle(), isOverloaded, pool',
  ],
} as const satisfies Record<string, readonly ContestantName[]>

async function main(): Promise<void> {
  const options = { quick: { type: 'boolean' }, rounds: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  const asked = positionals.length > 0 ? positionals : [...Object.keys(QUESTIONS), OVERLOAD]
  const rounds = values.rounds === undefined ? {} : { rounds: Number(values.rounds) }
  const known = [...Object.keys(QUESTIONS), OVERLOAD]
  if (asked.some((name) => !known.includes(name)) || !((rounds.rounds ?? 1) >= 1)) {
    throw new RangeError(`--rounds takes a number from 1; questions are ${known.join(', ')}`)
  }
  const extent = { ...(values.quick ? QUICK : FULL), ...rounds }
  stayBesideServers()
  const { setup, close } = await issuer()
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  const cores = pinned ? 'servers on one core, load and Redis on the other' : 'nothing pinned to a core'
  console.log(
    `Commit ${commit}, ${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${cpus().length} × ${cpus()[0]?.model.trim()}; ${cores}. ${extent.rounds} rounds of ${extent.sliceMs} ms.`,
  )
  for (const name of asked) {
    if (name === OVERLOAD) {
      await answerOverload(values.quick ? OVERLOADED_QUICK : OVERLOADED, { ...setup, redisUrl: '' })
      continue
    }
    const { title, loads, contestants } = QUESTIONS[name] as Question
    console.log(`\n### ${title}`)
    for (const load of loads) {
      const found = await measure(contestants, load, extent, setup)
      console.log(`\nNode ${process.versions.node}, load: ${load}.`)
      console.log(`\n${name === 'commands' ? commandTable(found) : costTable(found, contestants[0])}`)
      if (!values.quick && LOADS[load].expect === 200) checkCommands(found, extent)
    }
  }
  close()
}

async function answerOverload(extent: OverloadExtent, setup: Setup): Promise<void> {
  console.log('\n### Who is answered at twice the capacity?')
  for (const [work, contestants] of Object.entries(AT_WORK)) {
    const { perSec, unloadedP99Ms, found } = await measureOverload(contestants, extent, setup)
    const capacity = `capacity ${perSec.toFixed(0)} requests/s`
    console.log(`\nHandlers ${work}: ${capacity}; light users alone have a p99 of ${unloadedP99Ms.toFixed(0)} ms.\n`)
    const percent = (part: number) => `${(100 * part).toFixed(1)} %`
    const rows = [...found].map(([name, { goodput, lightP99Ms, lightRefused, heavyRefused }]) => [
      ...[name.replace(/, \w+$/, ''), goodput.toFixed(2), `${lightP99Ms.toFixed(0)} ms`],
      ...[percent(lightRefused), percent(heavyRefused)],
    ])
    const head = ['', 'Goodput, × capacity', 'p99 of light users', 'Light users refused', 'Heavy users refused']
    console.log(table([head, ...rows]))
  }
}

/** A heartbeat a second is no question about a user. */
const HEARTBEATS_PER_SEC = 2

/** What is to be measured over Redis has asked it. */
function checkCommands(rounds: Rounds, { sliceMs, afterMs }: Extent): void {
  for (const [name, slices] of rounds) {
    const perSec = median(slices.map(({ commands, perSec }) => commands * perSec))
    if (perSec <= (HEARTBEATS_PER_SEC * (sliceMs + afterMs)) / sliceMs)
      throw new Error(`"${name}" asked Redis ${perSec.toFixed(1)} times a second: nothing was measured over Redis`)
  }
}

/** Ratios of slices of the same round; medians over the rounds. */
function costTable(rounds: Rounds, floor: ContestantName): string {
  const floors = rounds.get(floor) ?? []
  const to = (slices: readonly Slice[], of: (slice: Slice, floor: Slice) => number, digits: number) =>
    median(slices.map((slice, round) => of(slice, floors[round] as Slice))).toFixed(digits)
  const rows = [...rounds].map(([name, slices]) => [
    name,
    to(slices, (slice) => slice.perSec, 0),
    to(slices, (slice, bare) => slice.perSec / bare.perSec, 2),
    to(slices, (slice) => slice.cpuUs, 1),
    to(slices, (slice, bare) => slice.cpuUs / bare.cpuUs, 2),
    name.includes('Redis') ? to(slices, (slice) => slice.commands, 3) : '–',
  ])
  return table([['', 'Requests/s', `× ${floor}`, 'CPU µs', `× ${floor}`, 'Commands per request'], ...rows])
}

function commandTable(rounds: Rounds): string {
  const rows = [...rounds].map(([name, slices]) => [
    name,
    median(slices.map(({ perSec }) => perSec)).toFixed(0),
    median(slices.map(({ commands }) => commands)).toFixed(3),
  ])
  return table([['', 'Requests/s', 'Commands per request'], ...rows])
}

function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '--:'))), ...rows.map(line)].join('\n')
}

function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b)
  return (
    ((sorted[Math.floor((sorted.length - 1) / 2)] ?? NaN) + (sorted[Math.ceil((sorted.length - 1) / 2)] ?? NaN)) / 2
  )
}

/** A key, tokens signed by it, and where the peers fetch its public half. */
async function issuer() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'bench', alg: 'RS256', use: 'sig' }
  const server = createServer((_req, res) => {
    res.setHeader('Content-Type', 'application/json')
    res.end(JSON.stringify({ keys: [jwk] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const audience = 'https://api.test'
  const part = (of: object) => Buffer.from(JSON.stringify(of)).toString('base64url')
  const token = (who: number) => {
    const iat = Math.floor(Date.now() / 1_000)
    const whose = { iss: url, aud: audience, sub: `u${who}`, client_id: 'bench', scope: 'read write' }
    const claims = part({ ...whose, iat, exp: iat + 86_400, jti: randomUUID() })
    const data = `${part({ alg: 'RS256', typ: 'at+jwt', kid: 'bench' })}.${claims}`
    return `${data}.${sign('sha256', Buffer.from(data), privateKey).toString('base64url')}`
  }
  return {
    setup: {
      issuer: url,
      audience,
      jwksUri: `${url}/keys`,
      publicPem: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
      privatePem: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
      tokens: Array.from({ length: COLD_TOKENS }, (_, i) => token(i)),
    },
    close: () => void server.close(),
  }
}

// What ends with this process, such as each redis-server, is told by its exit: a signal alone would leave them behind.
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))
main().then(
  () => process.exit(),
  (err: unknown) => {
    console.error(err)
    process.exit(1)
  },
)
