import { hashOf } from '../dashboard/spenders'
import type { SubjectDigest } from '../throttle/budget/subjects'
import type { PublishedWindow } from '../inspect/published-window'

/** What the viewer has chosen by keys. */
export interface View {
  readonly sort: SortKey
  /** Part of a hash, a name or a window's name; empty: all are shown. */
  readonly filter: string
  /** The filter is being typed. */
  readonly isTyping: boolean
}

/** The key that sorts by each figure. */
export const SORT_KEYS = {
  s: 'spent',
  l: 'over',
  h: 'hold',
  r: 'running',
  p: 'processes',
  e: 'end',
} as const
export type SortKey = keyof typeof SORT_KEYS

/** What is shown before any key was pressed. */
export const FIRST_VIEW: View = { sort: 's', filter: '', isTyping: false }

const LONGEST_FILTER = 64

/** What a key changes; undefined: the viewer quits. Keys are as a terminal sends them. */
export function afterKey(view: View, key: string): View | undefined {
  if (key === '\x03') return undefined // Ctrl-C
  if (view.isTyping) return typed(view, key)
  if (key === 'q') return undefined
  if (key === '/') return { ...view, isTyping: true }
  if (key === '\x1b') return { ...view, filter: '' }
  return Object.hasOwn(SORT_KEYS, key) ? { ...view, sort: key as SortKey } : view
}

function typed(view: View, key: string): View {
  if (key === '\r' || key === '\n') return { ...view, isTyping: false }
  if (key === '\x1b') return { ...view, filter: '', isTyping: false }
  if (key === '\x7f' || key === '\b') return { ...view, filter: view.filter.slice(0, -1) }
  return /^[\x20-\x7e]+$/.test(key) ? { ...view, filter: (view.filter + key).slice(0, LONGEST_FILTER) } : view
}

/**
 * The windows of one subject. A hash cannot be turned back into a name, but a name has only one hash.
 *
 * @param find as `req.throttle.subject`: `user:ada`; or a part of a hash or of a name that the store has
 * @param digest that of the store, where it has a `hashKey`
 */
export function found(windows: readonly PublishedWindow[], find: string, digest?: SubjectDigest): PublishedWindow[] {
  const id = hashOf(find, digest)
  return windows
    .filter(({ name, subject }) => subject === id || subject.includes(find) || (name?.includes(find) ?? false))
    .map((window) => (window.subject === id ? { ...window, name: find } : window))
}

/** The windows that the viewer wants, in order. */
export function viewed(windows: readonly PublishedWindow[], { sort, filter }: View): PublishedWindow[] {
  const found = windows.filter(({ name, subject, window }) =>
    [name ?? '', subject, window].some((text) => text.includes(filter)),
  )
  return found.sort((a, b) => ORDER[sort](b) - ORDER[sort](a) || b.spentMs - a.spentMs)
}

const ORDER: Readonly<Record<SortKey, (window: PublishedWindow) => number>> = {
  s: ({ spentMs }) => spentMs,
  l: ({ spentMs, overLimitMs }) => (overLimitMs === null ? -1 : spentMs - overLimitMs),
  h: ({ holdMs }) => holdMs,
  r: ({ running }) => running,
  p: ({ processes }) => processes,
  e: ({ endsInMs }) => -endsInMs,
}
