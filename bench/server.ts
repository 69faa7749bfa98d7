// The process of one contestant: it serves, and says what it has cost.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Contestant, Setup } from './contestants/setup'

// Each process loads what its contestant needs, and no other's packages.
const floors = () => import('./contestants/floors.js')
const throttles = () => import('./contestants/throttles.js')
const bearers = () => import('./contestants/bearers.js')
const overload = () => import('./contestants/overload.js')
const tokens = () => import('./contestants/token-endpoints.js')

const CONTESTANTS = {
  'bare Express': async (setup) => (await floors()).bare(setup),
  'bare Express, with the fields': async (setup) => (await floors()).bareWithFields(setup),
  'bare Express, 429': async (setup) => (await floors()).bareRefusal(setup),
  'throttle(), memory': async (setup) => (await throttles()).tollgate(false)(setup),
  'throttle(), Redis': async (setup) => (await throttles()).tollgate(true)(setup),
  'express-rate-limit, memory': async (setup) => (await throttles()).expressRateLimit(false)(setup),
  'express-rate-limit, Redis': async (setup) => (await throttles()).expressRateLimit(true)(setup),
  'rate-limiter-flexible, memory': async (setup) => (await throttles()).rateLimiterFlexible(false)(setup),
  'rate-limiter-flexible, Redis': async (setup) => (await throttles()).rateLimiterFlexible(true)(setup),
  'throttle(), memory, refusing': async (setup) => (await throttles()).tollgateRefusing(false)(setup),
  'throttle(), Redis, refusing': async (setup) => (await throttles()).tollgateRefusing(true)(setup),
  'express-rate-limit, memory, refusing': async (setup) => (await throttles()).expressRateLimitRefusing(false)(setup),
  'express-rate-limit, Redis, refusing': async (setup) => (await throttles()).expressRateLimitRefusing(true)(setup),
  'throttle(), Redis, handler of 0.2 ms': async (setup) => (await throttles()).tollgateBefore(0.2)(setup),
  'throttle(), Redis, handler of 5 ms': async (setup) => (await throttles()).tollgateBefore(5)(setup),
  'throttle(), Redis, handler of 20 ms': async (setup) => (await throttles()).tollgateBefore(20)(setup),
  'throttle(), Redis, handler of 200 ms': async (setup) => (await throttles()).tollgateBefore(200)(setup),
  'bare Express, blocking': async (setup) => (await overload()).bareAtWork('blocking')(setup),
  'toobusy-js, blocking': async (setup) => (await overload()).toobusyAtWork('blocking')(setup),
  'throttle(), overload: true, blocking': async (setup) => (await overload()).tollgateAtWork('blocking', false)(setup),
  'bare Express, pool': async (setup) => (await overload()).bareAtWork('pool')(setup),
  'toobusy-js, pool': async (setup) => (await overload()).toobusyAtWork('pool')(setup),
  'throttle(), overload: true, pool': async (setup) => (await overload()).tollgateAtWork('pool', false)(setup),
  'throttle(), isOverloaded, pool': async (setup) => (await overload()).tollgateAtWork('pool', true)(setup),
  'requireBearer()': async (setup) => (await bearers()).tollgateBearer(setup),
  'requireBearer(), nothing cached': async (setup) => (await bearers()).tollgateBearerCold(setup),
  'express-oauth2-jwt-bearer': async (setup) => (await bearers()).expressOauth2JwtBearer(setup),
  'express-jwt + jwks-rsa': async (setup) => (await bearers()).expressJwt(setup),
  'fast-jwt, cached': async (setup) => (await bearers()).fastJwt(setup),
  'requireBearer() + throttle(), Redis': async (setup) => (await bearers()).tollgateTogether(setup),
  'authorizationServer(), RS256': async (setup) => (await tokens()).tollgateTokens(setup),
  'authorizationServer(), ES256': async (setup) => (await tokens()).tollgateTokensES256(setup),
  'oidc-provider, RS256': async (setup) => (await tokens()).oidcProvider(setup),
  '@node-oauth/oauth2-server, RS256': async (setup) => (await tokens()).nodeOauth2Server(setup),
} satisfies Record<string, Contestant>

/**
 * Each contestant has some full collections among its first requests, as an app of some size has. After one of them V8
 * 13.6 makes `process.nextTick()` slower for good, by 2 µs a request of bare Express: whoever loads little goes without.
 */
const [COLLECTED_EVERY, COLLECTED_UNTIL] = [700, 2_100]

export type ContestantName = keyof typeof CONTESTANTS

process.once('message', ({ name, setup }: { name: ContestantName; setup: Setup }) => void serve(name, setup))
process.on('disconnect', () => process.exit())

async function serve(name: ContestantName, setup: Setup): Promise<void> {
  const server = createServer(await (CONTESTANTS[name] as Contestant)(setup))
  server.keepAliveTimeout = 600_000
  server.headersTimeout = server.requestTimeout = 0 // connections may stand for minutes before their first request
  let requests = 0
  const collect = () => {
    if (++requests % COLLECTED_EVERY === 0) globalThis.gc?.()
    if (requests === COLLECTED_UNTIL) server.off('request', collect)
  }
  server.on('request', collect)
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.({ cpuUs: user + system })
  })
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
}
