import type { ThrottleIntrospection } from '../throttle/introspection'
import type { PublishedWindow } from '../throttle/inspect/published-window'
import type { Activity } from './activity'
import type { Spender, Spenders } from './spenders'

/** So many are shown. */
const SUBJECTS = 25
const ROUTES = 20

/** A figure of the last minute, and how it came about: five minutes in steps of five seconds, oldest first. */
interface Charted {
  readonly aMinute: number
  readonly points: readonly number[]
}

/** What the page shows, as JSON. */
export interface Snapshot {
  /** Whose figures the subjects' are. */
  readonly source: 'redis' | 'process'
  /** Why the figures of all processes are not to be had. */
  readonly trouble: string | undefined
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
  readonly routes: readonly { readonly route: string; readonly requests: number; readonly ms: Charted }[]
  readonly store: {
    readonly shared: boolean
    /** Its servers that do not answer. */
    readonly down: readonly string[]
    /** How long it took to answer on average, by step; null where it was not asked. */
    readonly syncMs: readonly (number | null)[]
  }
}

type Found = Omit<PublishedWindow, 'processes' | 'overLimitMs'>

interface ShownSubject extends Found {
  readonly name: string | undefined
  readonly limitMs: number | null
  /** This process knows whom the hash stands for. */
  readonly known: boolean
}

/** What was read of all processes, or why it could not be. */
export interface Shared {
  readonly windows: readonly PublishedWindow[]
  readonly more: boolean
  readonly trouble: string | undefined
}

/** Puts together what there is to see now. */
export function snapshot(
  inside: ThrottleIntrospection,
  activity: Activity,
  spenders: Spenders,
  shared: Shared | undefined,
  named: boolean,
): Snapshot {
  const now = inside.clock.now()
  const own = spenders.all()
  const fromRedis = shared !== undefined && shared.trouble === undefined
  const found: readonly (Found & Partial<PublishedWindow>)[] = fromRedis ? ourWindows(inside, shared.windows) : own
  const known = new Map(own.map((each) => [`${each.window}\n${each.subject}`, each]))
  const sum = (of: 'spentMs' | 'holdMs' | 'running') => found.reduce((total, each) => total + each[of], 0)
  const routes = [...activity.routes].map(([route, { ms, requests }]) => ({
    route,
    requests: requests.aMinute(now),
    ms: { aMinute: ms.aMinute(now), points: ms.points(now) },
  }))
  const asked = activity.synced.points(now)
  return {
    source: fromRedis ? 'redis' : 'process',
    trouble: shared?.trouble,
    subjects: found
      .slice(0, SUBJECTS)
      .map((each) => shown(each, known.get(`${each.window}\n${each.subject}`), limitOf(inside, each.window), named)),
    totals: {
      ...{ subjects: found.length, spentMs: sum('spentMs'), holdMs: sum('holdMs'), running: sum('running') },
      more: fromRedis && shared.more,
    },
    admitted: { aMinute: activity.admitted.aMinute(now), points: activity.admitted.points(now) },
    refused: { aMinute: activity.refused.aMinute(now), points: activity.refused.points(now) },
    routes: routes.sort((a, b) => b.ms.aMinute - a.ms.aMinute || b.requests - a.requests).slice(0, ROUTES),
    store: {
      shared: inside.health !== undefined,
      down: (inside.health?.down ?? []).map((server) => server ?? 'Redis'),
      syncMs: activity.syncMs.points(now).map((ms, i) => (asked[i] ? ms / asked[i] : null)),
    },
  }
}

function shown(
  { window, subject, spentMs, holdMs, running, endsInMs, overLimitMs = null }: Found & Partial<PublishedWindow>,
  known: Spender | undefined,
  limitMs: number | null,
  named: boolean,
): ShownSubject {
  return {
    ...{ window, subject, spentMs, holdMs, running, endsInMs },
    name: named ? known?.name : undefined,
    limitMs: limitMs ?? known?.limitMs ?? overLimitMs,
    known: known !== undefined,
  }
}

/** Other throttles may keep theirs in the same Redis. */
function ourWindows(inside: ThrottleIntrospection, windows: readonly PublishedWindow[]): PublishedWindow[] {
  const names = new Set(inside.windows.map(({ policy }) => policy.name))
  return windows.filter(({ window, spentMs, running }) => names.has(window) && (spentMs > 0 || running > 0))
}

function limitOf(inside: ThrottleIntrospection, name: string): number | null {
  const limitMs = inside.windows.find(({ policy }) => policy.name === name)?.policy.limitMs
  return typeof limitMs === 'number' ? limitMs : null
}
