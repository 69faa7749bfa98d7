import type { OverloadMessage } from '../throttle/events'
import type { ThrottleIntrospection } from '../throttle/introspection'
import type { PublishedWindow } from '../inspect/published-window'
import type { Activity } from './activity'
import type { Spender, Spenders } from './spenders'
import { type FoundWindow, Names, type ShownSubject, bySubject, viewed } from './subjects'
import type { Times } from './route-times'
import type { View } from './view'

/** Entries shown of each list. */
const ROUTES = 20
const REFUSED = 20
const KINDS = 5

/** A figure of the last minute, and how it came about: five minutes in steps of five seconds, oldest first. */
interface Charted {
  readonly aMinute: number
  readonly points: readonly number[]
}

/** Requests of one subject that were refused in the last five minutes. */
interface RefusedSubject {
  /** Its hash; undefined where they are of several. */
  readonly subject: string | undefined
  readonly name: string | undefined
  readonly count: number
  /** How long ago the refusals began, in milliseconds. */
  readonly sinceMs: number
  /** Milliseconds until the longest Retry-After has passed. At most 0: it has. */
  readonly againInMs: number
  /** By route, window and reason; the most first. */
  readonly kinds: readonly {
    readonly route: string
    readonly window: string
    readonly reason: string | undefined
    readonly dryRun: boolean
    readonly count: number
  }[]
}

/** What a route cost in the last minute, and how long its requests take. */
export interface ShownRoute {
  readonly route: string
  readonly requests: number
  readonly ms: Charted
  readonly times: Times | undefined
  readonly anHourAgo: Times | undefined
}

/** The figures of one moment, the same for all viewers. */
export interface Overview {
  /** When, in milliseconds since 1970; the newest point of each chart. */
  readonly at: number
  /** Whose figures the subjects' are. */
  readonly source: 'redis' | 'process'
  /** Why the figures of all processes cannot be shown. */
  readonly trouble: string | undefined
  /** The throttle refuses nobody. */
  readonly dryRun: boolean
  readonly subjects: readonly ShownSubject[]
  readonly totals: {
    readonly subjects: number
    readonly spentMs: number
    readonly holdMs: number
    readonly running: number
    /** There are more than were counted. */
    readonly more: boolean
  }
  readonly admitted: Charted
  readonly refused: Charted
  /** Refusals of the last minute by reason, the most first. */
  readonly reasons: readonly { readonly reason: string | undefined; readonly count: number }[]
  readonly refusals: readonly RefusedSubject[]
  readonly routes: readonly ShownRoute[]
  /** For how long handlers blocked the event loop of this process in the last minute. */
  readonly blockedMs: number
  /** What this process sheds; undefined where it is not overloaded. */
  readonly overload: OverloadMessage | undefined
  readonly store: {
    readonly shared: boolean
    /** Its servers that do not answer, and for how long. */
    readonly down: readonly { readonly server: string; readonly sinceMs: number; readonly cause: string }[]
    /** What requests get while it does not answer. */
    readonly meanwhile: string | undefined
    /** How many processes live. */
    readonly processes: number
    /** How long it took to answer on average, by step; null where it was not asked. */
    readonly syncMs: readonly (number | null)[]
  }
}

/** What the page of one viewer shows, as JSON: of the subjects, those that the viewer looks for. */
export interface Snapshot extends Overview {
  /** How many subjects were found; as many as are shown, or more. */
  readonly found: number
}

/** What was read of all processes, or why it could not be. */
export interface Shared {
  readonly windows: readonly PublishedWindow[]
  readonly more: boolean
  readonly trouble: string | undefined
}

/** Puts together what there is to see now. */
export function overview(
  inside: ThrottleIntrospection,
  activity: Activity,
  spenders: Spenders,
  shared: Shared | undefined,
  appNames: ((subject: string) => string | undefined) | undefined,
): Overview {
  const now = inside.clock.now()
  const own = spenders.all()
  const down = (inside.shared?.outages ?? []).map(({ server = 'Redis', since, cause = 'no answer yet' }) => {
    return { server, cause, sinceMs: Math.max(0, Math.round(now - since / 1_000)) }
  })
  // A server that takes no reports may still be read, but it has old figures.
  const trouble = shared && (shared.trouble ?? down[0]?.cause)
  const fromRedis = shared !== undefined && trouble === undefined
  const windows = ourWindows(inside, fromRedis ? shared.windows : own, own)
  const refusals = refusalsOf(activity, now, spenders)
  const refused = new Map(refusals.flatMap(({ who, subject }) => (who && subject ? [[subject, who]] : [])))
  const names = new Names(own, fromRedis ? shared.windows : [], refused, appNames)
  const subjects = bySubject(windows, names)
  const sum = (of: 'spentMs' | 'holdMs' | 'running') => windows.reduce((total, each) => total + each[of], 0)
  const routes = [...activity.routes].map(([route, { ms, requests, times }]) => ({
    route,
    requests: requests.aMinute(now),
    ms: { aMinute: ms.aMinute(now), points: ms.points(now) },
    times,
  }))
  const asked = activity.synced.points(now)
  return {
    at: inside.clock.date(),
    source: fromRedis ? 'redis' : 'process',
    trouble,
    dryRun: activity.isDryRun,
    subjects,
    totals: {
      subjects: subjects.length,
      spentMs: sum('spentMs'),
      holdMs: sum('holdMs'),
      running: sum('running'),
      more: fromRedis && shared.more,
    },
    admitted: { aMinute: activity.admitted.aMinute(now), points: activity.admitted.points(now) },
    refused: { aMinute: activity.refused.aMinute(now), points: activity.refused.points(now) },
    reasons: reasonsOf(activity, now),
    refusals: refusals.map(({ who: _, ...each }) => ({ ...each, name: each.subject && names.nameOf(each.subject) })),
    routes: routes
      .filter(({ ms, requests }) => requests > 0 || ms.points.some((point) => point > 0))
      .sort((a, b) => b.ms.aMinute - a.ms.aMinute || b.requests - a.requests)
      .slice(0, ROUTES)
      .map(({ times, ...route }) => ({ ...route, times: times.at(now, 0), anHourAgo: times.at(now, 1) })),
    blockedMs: activity.blockedMs(),
    overload: inside.overload?.message,
    store: {
      shared: inside.shared !== undefined,
      down,
      meanwhile: inside.shared?.meanwhile,
      processes: inside.shared?.living ?? 1,
      syncMs: activity.syncMs.points(now).map((ms, i) => (asked[i] ? ms / asked[i] : null)),
    },
  }
}

/** What one viewer sees of it. */
export function snapshot(overview: Overview, view: View): Snapshot {
  const found = viewed(overview.subjects, view)
  return { ...overview, subjects: found.slice(0, view.most), found: found.length }
}

function reasonsOf(activity: Activity, now: number): Overview['reasons'] {
  const counts = new Map<string | undefined, number>()
  for (const { reason, count } of activity.refusals.values())
    counts.set(reason, (counts.get(reason) ?? 0) + count.aMinute(now))
  const all = [...counts].map(([reason, count]) => ({ reason, count }))
  return all.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count)
}

/** Those refused most. `who`: as `req.throttle.subject`. */
function refusalsOf(activity: Activity, now: number, spenders: Spenders) {
  const groups = new Map<
    string | undefined,
    { kinds: RefusedSubject['kinds'][number][]; sinceMs: number; againInMs: number }
  >()
  for (const { subject, count: series, run, ...kind } of activity.refusals.values()) {
    const count = series.total(now)
    if (count === 0) continue
    const group = groups.get(subject) ?? { kinds: [], sinceMs: 0, againInMs: 0 }
    group.kinds.push({ ...kind, count })
    group.sinceMs = Math.max(group.sinceMs, now - run.since)
    group.againInMs = Math.max(group.againInMs, run.againAt - now)
    groups.set(subject, group)
  }
  return [...groups]
    .map(([who, { kinds, ...times }]) => ({
      who,
      ...times,
      count: kinds.reduce((sum, { count }) => sum + count, 0),
      kinds: kinds.sort((a, b) => b.count - a.count).slice(0, KINDS),
    }))
    .sort((a, b) => b.count - a.count)
    .slice(0, REFUSED)
    .map((refused) => ({ ...refused, subject: refused.who === undefined ? undefined : spenders.hashOf(refused.who) }))
}

/** Those of this throttle, since others may keep theirs in the same Redis; each with its limit, where that is known. */
function ourWindows(
  inside: ThrottleIntrospection,
  windows: readonly (PublishedWindow | Spender)[],
  own: readonly Spender[],
): FoundWindow[] {
  const limits = new Map(inside.windows.map(({ policy: { name, limitMs } }) => [name, limitMs]))
  const known = new Map(own.map((each) => [`${each.window}\n${each.subject}`, each]))
  return windows
    .filter(({ window, spentMs, running }) => limits.has(window) && (spentMs > 0 || running > 0))
    .map((found) => {
      const { window, subject, spentMs, holdMs, running, endsInMs } = found
      const exceeded = 'overLimitMs' in found ? found.overLimitMs : null
      const limit = limits.get(window)
      const here = known.get(`${window}\n${subject}`)
      const limitMs = typeof limit === 'number' ? limit : (here?.limitMs ?? exceeded)
      return { window, subject, spentMs, holdMs, running, waiting: here?.waiting ?? 0, endsInMs, limitMs }
    })
}
