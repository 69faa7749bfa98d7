import { TOKEN_REQUEST } from './contestants/token-request'
import { CONNECTIONS, EVEN_USERS, ONE_CONNECTION } from './load-parameters'
import type { Load } from './load'
import type { ContestantName } from './server'

/** A kind of load, and how many take part in it. */
export type LoadName = keyof typeof LOADS

/** What takes turns with what. All of a group are up at once. */
export interface Group {
  readonly title: string
  readonly contestants: readonly ContestantName[]
  readonly loads: readonly LoadName[]
  /** Each contestant is started so many times, and takes all rounds each time: what V8 compiles differs. Else once. */
  readonly starts?: number
  /** Warmed so many times as long: a command that asks about many users is sent rarely, and its code compiled late. */
  readonly warms?: number
  /** A target is about the ratio of its loads: each round has them all. */
  readonly comparesLoads?: true
  /** The way to Redis is longer. */
  readonly slow?: true
  /** The servers may use every core: the load generator leaves most of its own. */
  readonly allCores?: true
  /** The server's own process asks, over no sockets: a client's part of the kernel is left out, the generator's work is in. */
  readonly within?: true
  /** Other processes are busy on the load generator's core: one that runs as the last of all would hardly run. */
  readonly isCoreBusy?: true
}

type LoadKind = Pick<Load, 'users' | 'connections' | 'expect'> & Partial<Pick<Load, 'paths' | 'raw'>>

const paths = (count: number) => Array.from({ length: count }, (_, i) => `/w${i}`)
const usual = { connections: CONNECTIONS, expect: 200 }

export const LOADS = {
  'one hot user': { ...usual, users: 'hot' },
  '10,000 users': { ...usual, users: 'even' },
  '100,000 users': { ...usual, users: EVEN_USERS * 10 },
  '100,000 users, Zipf': { ...usual, users: 'zipf' },
  'hot, one connection': { ...usual, users: 'hot', connections: ONE_CONNECTION },
  'cold, one connection': { ...usual, users: 'even', connections: ONE_CONNECTION },
  refused: { ...usual, users: 'hot', expect: 429 },
  'one token': { ...usual, users: 'hot' },
  'many tokens': { ...usual, users: 'hot' },
  'client credentials': { ...usual, users: 'hot', raw: TOKEN_REQUEST },
  'client credentials, all cores': { ...usual, users: 'hot', raw: TOKEN_REQUEST },
  '1 route': { ...usual, users: 'hot', paths: ['/w0'] },
  '10 routes': { ...usual, users: 'hot', paths: paths(10) },
} satisfies Record<string, LoadKind>

const MEMORY = ['throttle(), memory', 'express-rate-limit, memory', 'rate-limiter-flexible, memory'] as const
const REDIS = ['throttle(), Redis', 'express-rate-limit, Redis', 'rate-limiter-flexible, Redis'] as const

export const GROUPS = {
  memory: {
    title: 'Throttles, in memory',
    contestants: ['bare', 'bare+fields', ...MEMORY, 'throttle(), memory, 4 windows'],
    loads: ['one hot user', '10,000 users', '100,000 users, Zipf'],
    starts: 2,
  },
  redis: {
    title: 'Throttles, on Redis',
    contestants: ['bare', 'bare+fields', ...REDIS, 'throttle(), Redis, figures of 5 s', 'throttle(), Redis, 4 windows'],
    loads: ['one hot user', '10,000 users', '100,000 users, Zipf'],
    starts: 2,
    warms: 4,
  },
  redisWithin: {
    title: 'Throttles, on Redis, asked within their own process',
    contestants: ['bare', 'bare+fields', ...REDIS],
    loads: ['one hot user', '10,000 users', '100,000 users, Zipf'],
    starts: 2,
    warms: 4,
    within: true,
  },
  slowRedis: {
    title: 'Throttles, on a Redis that is 1 ms away',
    contestants: ['bare', 'bare+fields', ...REDIS],
    loads: ['one hot user', 'hot, one connection', 'cold, one connection'],
    slow: true,
  },
  refused: {
    title: 'All refused',
    contestants: [
      'bare 429',
      'throttle() refusing, memory',
      'express-rate-limit refusing, memory',
      'rate-limiter-flexible refusing, memory',
      'throttle() refusing, Redis',
      'express-rate-limit refusing, Redis',
      'rate-limiter-flexible refusing, Redis',
    ],
    loads: ['refused'],
  },
  bearer: {
    title: 'Bearer, RS256, a token seen before',
    contestants: [
      'bare',
      'bare+fields',
      'processingTime()',
      'requireBearer()',
      'express-oauth2-jwt-bearer',
      'express-jwt + jwks-rsa',
      'fast-jwt, cached',
      'bearer + limit + throttle(), Redis',
    ],
    loads: ['one token'],
    starts: 2,
  },
  cold: {
    title: 'Bearer, RS256, tokens not seen before',
    contestants: ['bare', 'processingTime()', 'express-oauth2-jwt-bearer', 'requireBearer(), cold'],
    loads: ['many tokens'],
  },
  tokens: {
    title: 'Token endpoint, client credentials, RS256 and ES256',
    contestants: [
      'bare',
      'authorizationServer()',
      'authorizationServer(), ES256',
      'oidc-provider',
      '@node-oauth/oauth2-server',
    ],
    loads: ['client credentials'],
  },
  tokensOnAllCores: {
    title: 'Token endpoint, as before, where a server may sign on another core than it answers on',
    contestants: ['bare', 'authorizationServer()', 'oidc-provider', '@node-oauth/oauth2-server'],
    loads: ['client credentials, all cores'],
    allCores: true,
    isCoreBusy: true,
  },
  subjects: {
    title: 'Growth with subjects',
    contestants: ['bare', 'bare+fields', 'throttle(), memory', 'throttle(), Redis'],
    loads: ['10,000 users', '100,000 users'],
    comparesLoads: true,
  },
  routes: {
    title: 'Growth with windows: one of 1 or 10 for each request',
    contestants: ['bare', 'throttle(), memory, 1 route', 'throttle(), memory, 10 routes'],
    loads: ['1 route', '10 routes'],
    comparesLoads: true,
  },
  processes: {
    title: 'Growth with processes that share a subject: one of them is loaded, the others ask now and then',
    contestants: [
      'bare',
      'throttle(), 1 process',
      'throttle(), 3 processes',
      'throttle(), 10 processes',
      'throttle(), 100 processes',
    ],
    loads: ['one hot user'],
    isCoreBusy: true,
  },
} satisfies Record<string, Group>

export type GroupName = keyof typeof GROUPS

/** How many processes share a contestant's subjects. */
export function processesOf(contestant: ContestantName): number {
  return Number(/(\d+) process/.exec(contestant)?.[1] ?? 1)
}

/** The servers of the group ask themselves. */
export function isWithin(name: GroupName): boolean {
  return (GROUPS[name] as Group).within ?? false
}

/** Where a contestant has as many routes as its name says, it is loaded in as many and no others. */
export function takesPart(contestant: ContestantName, load: LoadName): boolean {
  const places = /\d+ route/
  const [of] = places.exec(contestant) ?? []
  const [asked] = places.exec(load) ?? []
  return of === undefined || asked === undefined || of === asked
}
