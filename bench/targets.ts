import { type GroupName, type LoadName, isWithin, processesOf } from './groups'
import type { Slice } from './measure'
import { type Figures, type Results, lowerQuartile, median } from './figures'
import type { ContestantName } from './server'

/** What was aimed at, and what came of it. */
export interface TargetResult {
  readonly work: string
  readonly target: string
  readonly measured: string
  readonly met: boolean
}

const ratio = (one: Slice, other: Slice) => one.perSec / other.perSec
const cheaper = (one: Slice, other: Slice) => other.cpuUs / one.cpuUs
const addedUs = (one: Slice, other: Slice) => one.cpuUs - other.cpuUs
const addedMs = (one: Slice, other: Slice) => one.p50Ms - other.p50Ms

/** All that could be measured. Set before the first run. */
export function targets({ limits, memory }: Results, figures: Figures): TargetResult[] {
  const results: TargetResult[] = []
  const row = (group: GroupName, name: ContestantName, load: LoadName) => figures.row(group, name, load)
  const pair = (
    group: GroupName,
    load: LoadName,
    name: ContestantName,
    than: ContestantName,
    of: (one: Slice, other: Slice) => number,
  ) => figures.paired(row(group, name, load), row(group, than, load), of)
  const add = (work: string, measured: number, digits: number, unit: string, sign: '≥' | '≤', bound: number) => {
    if (Number.isNaN(measured)) return
    const met = sign === '≥' ? measured >= bound : measured <= bound
    results.push({ work, target: `${sign} ${bound}${unit}`, measured: `${measured.toFixed(digits)}${unit}`, met })
  }
  /** Faster in three rounds of four: by a median of 1.00 nobody is ahead. */
  const faster = (work: string, ratios: readonly number[]) => {
    const measured = median(ratios)
    if (Number.isNaN(measured)) return
    const met = lowerQuartile(ratios) > 1
    results.push({ work, target: '> 1 in ¾ of the rounds', measured: measured.toFixed(2), met })
  }
  /** Throughput, and the same by the processor's time, which other work on the machine disturbs less. */
  const both = (work: string, bound: number, ...of: [GroupName, LoadName, ContestantName, ContestantName]) => {
    add(work, pair(...of, ratio), 2, '', '≥', bound)
    add(`${work}, by CPU time`, pair(...of, cheaper), 2, '', '≥', bound)
  }
  const added = (work: string, boundUs: number, ...of: [GroupName, LoadName, ContestantName, ContestantName]) =>
    add(`${work}: CPU added to ${of[3]}`, pair(...of, addedUs), 1, ' µs', '≤', boundUs)
  const ahead = (group: GroupName, load: LoadName, name: ContestantName, ...peers: ContestantName[]) => {
    const how = isWithin(group) ? ', asked within' : ''
    for (const peer of peers) {
      const work = `${name}, ${load}${how} / ${peer}`
      faster(work, figures.each(row(group, name, load), row(group, peer, load), ratio))
      faster(`${work}, by CPU time`, figures.each(row(group, name, load), row(group, peer, load), cheaper))
    }
  }

  const hot = 'one hot user'
  const many = '10,000 users'
  for (const load of [hot, many, '100,000 users, Zipf'] as const) {
    ahead('memory', load, 'throttle(), memory', 'express-rate-limit, memory')
    for (const group of ['redis', 'redisWithin'] as const) {
      ahead(group, load, 'throttle(), Redis', 'express-rate-limit, Redis', 'rate-limiter-flexible, Redis')
    }
  }
  added('throttle(), memory, one hot user', 3, 'memory', hot, 'throttle(), memory', 'bare+fields')
  added('throttle(), memory, 10,000 users', 6, 'memory', many, 'throttle(), memory', 'bare+fields')
  added('throttle(), Redis, one hot user', 4, 'redis', hot, 'throttle(), Redis', 'bare+fields')
  added('throttle(), Redis, one hot user, asked within', 4, 'redisWithin', hot, 'throttle(), Redis', 'bare+fields')
  const scripts = (load: LoadName) =>
    median(row('redis', 'throttle(), Redis', load)?.slices.map((s) => s.scripts?.perRequest ?? NaN) ?? [])
  add('throttle(), Redis, hot: commands sent a request', scripts(hot), 4, '', '≤', 0.01)
  add('throttle(), Redis, 10,000 users: commands sent a request', scripts(many), 2, '', '≤', 2)
  for (const [load, bound] of [
    ['hot, one connection', 0.3],
    ['cold, one connection', 1.4],
  ] as const) {
    add(
      `Redis 1 ms away, ${load}: p50 added`,
      pair('slowRedis', load, 'throttle(), Redis', 'bare+fields', addedMs),
      2,
      ' ms',
      '≤',
      bound,
    )
  }
  for (const where of ['memory', 'Redis'] as const) {
    both(`refused, ${where} / bare 429`, 0.96, 'refused', 'refused', `throttle() refusing, ${where}`, 'bare 429')
  }
  const refusing = row('refused', 'throttle() refusing, Redis', 'refused')
  add(
    'refused, Redis: commands sent a request',
    median(refusing?.slices.map((s) => s.scripts?.perRequest ?? NaN) ?? []),
    4,
    '',
    '≤',
    0.01,
  )
  const syncs = row('redis', 'throttle(), Redis', many)?.slices ?? []
  add(
    'Redis CPU per sync / a script that returns TIME',
    median(syncs.map((s, i) => (s.scripts?.us ?? NaN) / (limits.timeUs[i] ?? NaN))),
    1,
    '',
    '≤',
    5,
  )
  add('Redis CPU per sync', median(syncs.map((s) => s.scripts?.us ?? NaN)), 1, ' µs', '≤', 12)

  const warm = 'one token'
  added('requireBearer(), warm', 4, 'bearer', warm, 'requireBearer()', 'processingTime()')
  ahead('bearer', warm, 'requireBearer()', 'express-oauth2-jwt-bearer', 'express-jwt + jwks-rsa', 'fast-jwt, cached')
  const cold = row('cold', 'requireBearer(), cold', 'many tokens')
  const floor = row('cold', 'processingTime()', 'many tokens')
  const coldUs = cold?.slices.map((s, i) => addedUs(s, floor?.slices[i] as Slice) / (limits.verifyUs[i] ?? NaN)) ?? []
  add('requireBearer(), cold: CPU added / crypto.verify', median(coldUs), 2, '', '≤', 1.25)
  ahead('cold', 'many tokens', 'requireBearer(), cold', 'express-oauth2-jwt-bearer')
  both(
    'bearer + limit + throttle(), Redis / bare+fields',
    0.88,
    'bearer',
    warm,
    'bearer + limit + throttle(), Redis',
    'bare+fields',
  )

  for (const [group, grant] of [
    ['tokens', 'client credentials'],
    ['tokensOnAllCores', 'client credentials, all cores'],
  ] as const) {
    const slices = row(group, 'authorizationServer()', grant)?.slices ?? []
    const perLimit = (of: (slice: Slice) => number) =>
      median(slices.map((slice, round) => (limits.signUs[group][round] ?? NaN) / of(slice)))
    const work = `authorizationServer(), ${grant} / what one core signs`
    add(
      work,
      perLimit(({ perSec }) => 1e6 / perSec),
      2,
      '',
      '≥',
      0.8,
    )
    add(
      `${work}, by CPU time`,
      perLimit(({ cpuUs }) => cpuUs),
      2,
      '',
      '≥',
      0.8,
    )
    ahead(group, grant, 'authorizationServer()', 'oidc-provider', '@node-oauth/oauth2-server')
  }

  add(
    'authorizationServer(), ES256 / RS256, by CPU time',
    pair('tokens', 'client credentials', 'authorizationServer(), ES256', 'authorizationServer()', cheaper),
    2,
    '',
    '≥',
    2,
  )

  for (const [where, subject] of [
    ['in memory', memory?.subject],
    ['Redis', memory?.subjectOnRedis],
  ] as const) {
    add(`memory per subject in its window, ${where}`, subject?.resting ?? NaN, 0, ' B', '≤', 200)
    add(`memory per subject that asked a moment ago, ${where}`, subject?.asking ?? NaN, 0, ' B', '≤', 200)
  }
  add('memory per cached token', memory?.token ?? NaN, 0, ' B', '≤', 1_536)

  const grown = (of: [GroupName, ContestantName, LoadName], from: [ContestantName, LoadName]) =>
    figures.paired(row(...of), row(of[0], ...from), (a, b) => a.cpuUs / b.cpuUs)
  for (const name of ['throttle(), memory', 'throttle(), Redis'] as const) {
    add(
      `${name}: CPU at 10× subjects`,
      grown(['subjects', name, '100,000 users'], [name, '10,000 users']),
      2,
      '×',
      '≤',
      1.1,
    )
  }
  const routes = grown(
    ['routes', 'throttle(), memory, 10 routes', '10 routes'],
    ['throttle(), memory, 1 route', '1 route'],
  )
  add('CPU at 10× windows', routes, 2, '×', '≤', 1.1)
  for (const many of ['throttle(), 10 processes', 'throttle(), 100 processes'] as const) {
    const processes = grown(['processes', many, hot], ['throttle(), 1 process', hot])
    add(`hot path: CPU at ${processesOf(many)}× processes`, processes, 2, '×', '≤', 1.1)
  }
  return results
}
