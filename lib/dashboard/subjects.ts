import { subjectKey } from '../throttle/subject'
import { subjectId } from '../throttle/account/subject-id'
import type { Spender } from './spenders'
import type { View } from './view'

/** Of one window of a subject, as Redis or this process has it. */
export interface FoundWindow extends ShownWindow {
  /** The hash by which Redis knows it. */
  readonly subject: string
}

/** One window of a subject, as the page shows it. */
export interface ShownWindow {
  readonly window: string
  readonly spentMs: number
  /** Null where it is not known: it depends on the request, and this process has seen none. */
  readonly limitMs: number | null
  readonly holdMs: number
  readonly running: number
  /** Requests that wait for time, in this process. */
  readonly waiting: number
  readonly endsInMs: number
}

/** A subject with all of its open windows. */
export interface ShownSubject {
  /** The hash by which Redis knows it. */
  readonly subject: string
  /** What the app's `names` says; undefined where it says nothing, or this process does not know the subject. */
  readonly name: string | undefined
  /** Whether this process knows whom the hash stands for, and so can reset it by the hash. */
  readonly known: boolean
  readonly windows: readonly ShownWindow[]
}

/** Puts the windows of each subject together; the one that is nearest to its limit comes first. */
export function bySubject(
  windows: readonly FoundWindow[],
  known: ReadonlyMap<string, Spender>,
  nameOf: (subject: string) => string | undefined,
): ShownSubject[] {
  const groups = new Map<string, ShownWindow[]>()
  for (const { subject, ...window } of windows) {
    const group = groups.get(subject)
    if (group === undefined) groups.set(subject, [window])
    else group.push(window)
  }
  return [...groups].map(([subject, group]) => {
    const spender = known.get(subject)
    const name = spender && nameOf(spender.name)
    return { subject, name, known: spender !== undefined, windows: group.sort((a, b) => share(b) - share(a)) }
  })
}

/** The subjects that a viewer looks for, in the order wanted. */
export function viewed(subjects: readonly ShownSubject[], { find, sort }: View): ShownSubject[] {
  const found = find === '' ? [...subjects] : subjects.filter(matcher(find))
  return found.sort((a, b) => ORDER[sort](b) - ORDER[sort](a) || ORDER.spent(b) - ORDER.spent(a))
}

/** A hash cannot be turned back, but who knows a subject can look for its hash. */
function matcher(find: string): (subject: ShownSubject) => boolean {
  const [text, id] = [find.toLowerCase(), hashOf(find)]
  return ({ subject, name }) =>
    subject === id || subject.includes(find) || (name?.toLowerCase().includes(text) ?? false)
}

/** The hash by which Redis knows a subject. */
export function hashOf(subject: string): string {
  return subjectId(subjectKey(subject), 1).id
}

const ORDER: Readonly<Record<View['sort'], (subject: ShownSubject) => number>> = {
  spent: ({ windows }) => sum(windows, 'spentMs'),
  share: ({ windows }) => Math.max(...windows.map(share)),
  hold: ({ windows }) => sum(windows, 'holdMs') + sum(windows, 'running') / 1_000,
  ends: ({ windows }) => -Math.min(...windows.map(({ endsInMs }) => endsInMs)),
}

function share({ spentMs, limitMs }: ShownWindow): number {
  return limitMs === null ? 0 : spentMs / limitMs
}

/** The sum of one figure over windows. */
export function sum(windows: readonly ShownWindow[], of: 'spentMs' | 'holdMs' | 'running'): number {
  return windows.reduce((total, window) => total + window[of], 0)
}
