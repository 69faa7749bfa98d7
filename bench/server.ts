// The process of one contestant: serves, says what it has cost, and does raw work of the machine for comparison.
import { Agent, type Server, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Contestant, Setup } from './contestants/setup'
import { type Load, generate } from './load'
import { connectWithin } from './within'

// Each process loads what its contestant needs, and no other's packages.
const floors = () => import('./contestants/floors.js')
const throttles = () => import('./contestants/throttles.js')
const bearers = () => import('./contestants/bearers.js')
const tokens = () => import('./contestants/token-endpoints.js')

const CONTESTANTS = {
  bare: async (setup) => (await floors()).bare(setup),
  'bare+fields': async (setup) => (await floors()).bareWithFields(setup),
  'bare 429': async (setup) => (await floors()).bareRefusal(setup),
  'processingTime()': async (setup) => (await floors()).processingTimeOnly(setup),
  'throttle(), memory': async (setup) => (await throttles()).tollgate(1, false)(setup),
  'throttle(), memory, 4 windows': async (setup) => (await throttles()).tollgate(4, false)(setup),
  'throttle(), memory, 1 route': async (setup) => (await throttles()).tollgateRoutes(1)(setup),
  'throttle(), memory, 10 routes': async (setup) => (await throttles()).tollgateRoutes(10)(setup),
  'throttle(), Redis': async (setup) => (await throttles()).tollgate(1, true)(setup),
  'throttle(), Redis, figures of 5 s': async (setup) =>
    (await throttles()).tollgate(1, true, { maxStaleMs: 5_000 })(setup),
  'throttle(), Redis, 4 windows': async (setup) => (await throttles()).tollgate(4, true)(setup),
  'throttle(), 1 process': async (setup) => (await throttles()).tollgate(1, true)(setup),
  'throttle(), 3 processes': async (setup) => (await throttles()).tollgate(1, true)(setup),
  'throttle(), 10 processes': async (setup) => (await throttles()).tollgate(1, true)(setup),
  'throttle(), 100 processes': async (setup) => (await throttles()).tollgate(1, true)(setup),
  'express-rate-limit, memory': async (setup) => (await throttles()).expressRateLimit(false)(setup),
  'express-rate-limit, Redis': async (setup) => (await throttles()).expressRateLimit(true)(setup),
  'rate-limiter-flexible, memory': async (setup) => (await throttles()).rateLimiterFlexible(false)(setup),
  'rate-limiter-flexible, Redis': async (setup) => (await throttles()).rateLimiterFlexible(true)(setup),
  'throttle() refusing, memory': async (setup) => (await throttles()).tollgateRefusing(false)(setup),
  'throttle() refusing, Redis': async (setup) => (await throttles()).tollgateRefusing(true)(setup),
  'express-rate-limit refusing, memory': async (setup) => (await throttles()).expressRateLimitRefusing(false)(setup),
  'express-rate-limit refusing, Redis': async (setup) => (await throttles()).expressRateLimitRefusing(true)(setup),
  'rate-limiter-flexible refusing, memory': async (setup) =>
    (await throttles()).rateLimiterFlexibleRefusing(false)(setup),
  'rate-limiter-flexible refusing, Redis': async (setup) =>
    (await throttles()).rateLimiterFlexibleRefusing(true)(setup),
  'requireBearer()': async (setup) => (await bearers()).tollgateBearer(setup),
  'requireBearer(), cold': async (setup) => (await bearers()).tollgateBearerCold(setup),
  'express-oauth2-jwt-bearer': async (setup) => (await bearers()).expressOauth2JwtBearer(setup),
  'express-jwt + jwks-rsa': async (setup) => (await bearers()).expressJwt(setup),
  'fast-jwt, cached': async (setup) => (await bearers()).fastJwt(setup),
  'bearer + limit + throttle(), Redis': async (setup) => (await bearers()).tollgateTogether(setup),
  'authorizationServer()': async (setup) => (await tokens()).tollgateTokens(setup),
  'authorizationServer(), ES256': async (setup) => (await tokens()).tollgateTokensES256(setup),
  'oidc-provider': async (setup) => (await tokens()).oidcProvider(setup),
  '@node-oauth/oauth2-server': async (setup) => (await tokens()).nodeOauth2Server(setup),
} satisfies Record<string, Contestant>

/** How late a timer came, looked at each 10 milliseconds. */
const LOOP_MS = 10
const loop = monitorEventLoopDelay({ resolution: LOOP_MS })
loop.enable()

export type ContestantName = keyof typeof CONTESTANTS

/** What the bench asks of a server. */
export type Question =
  | { readonly ask: 'cost' }
  | { readonly ask: 'verifying' | 'signing'; readonly forMs: number }
  | { readonly ask: 'companion'; readonly user: string; readonly everyMs: number }
  | { readonly ask: 'load'; readonly load: Load }

process.once('message', ({ name, setup }: { name: ContestantName; setup: Setup }) => void serve(name, setup))
process.on('disconnect', () => process.exit())

async function serve(name: ContestantName, setup: Setup): Promise<void> {
  const server = createServer(await (CONTESTANTS[name] as Contestant)(setup))
  process.on('message', (question: Question) => {
    void answer(question, setup, server).then((answered) => process.send?.(answered))
  })
  server.keepAliveTimeout = 600_000
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
}

async function answer(question: Question, setup: Setup, server: Server): Promise<object> {
  if (question.ask === 'load') return generate(question.load, () => connectWithin(server))
  if (question.ask === 'companion') {
    return keepAsking((server.address() as AddressInfo).port, question.user, question.everyMs)
  }
  if (question.ask === 'verifying') return { us: (await bearers()).verifyingUs(setup, question.forMs) }
  if (question.ask === 'signing') return { us: (await tokens()).signingUs(setup, question.forMs) }
  const { user, system } = process.cpuUsage()
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  const loopMs = Math.max(0, loop.max / 1e6 - LOOP_MS)
  loop.reset() // of the time since the question before
  return { cpuUs: user + system, loopMs, heapBytes: heapUsed + external }
}

/** Asks itself from now on: one of the processes that a subject is busy in. Says so once the first answer is there. */
function keepAsking(port: number, user: string, everyMs: number): Promise<object> {
  loop.disable() // nobody asks a companion, and a hundred such timers keep a core busy
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (answered?: () => void) =>
    get({ port, agent, host: '127.0.0.1', headers: { 'X-User': user } }, (res) => {
      res.resume()
      if (answered) res.on('end', answered)
    })
  return new Promise((resolve) => {
    ask(() => {
      setInterval(() => void ask(), everyMs)
      resolve({})
    })
  })
}
