import type { PublishedWindow } from '../inspect/published-window'
import { shortName } from '../throttle/redis/record'
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
  /** Undefined if the app's `label` returns none, or if neither the store nor a refusal of this process has the text. */
  readonly name: string | undefined
  /** Whether it can be reset by its hash: this process or the store knows the hash's subject. */
  readonly known: boolean
  readonly windows: readonly ShownWindow[]
}

/** The names of subjects, by hash. */
export class Names {
  readonly #own: ReadonlyMap<string, string>
  readonly #stored: ReadonlyMap<string, string>
  readonly #refused: ReadonlyMap<string, string>
  readonly #label: ((subject: string) => string | undefined) | undefined

  /**
   * @param own subjects that this process has served
   * @param windows what all processes have published; the store may keep a subject's text, shortened
   * @param refused subjects that this process has refused: named also without a label, since an operator has to act
   * @param label the app's
   */
  constructor(
    own: readonly Spender[],
    windows: readonly PublishedWindow[],
    refused: ReadonlyMap<string, string>,
    label: ((subject: string) => string | undefined) | undefined,
  ) {
    this.#own = new Map(own.map(({ subject, name }) => [subject, name]))
    this.#stored = new Map(windows.flatMap(({ subject, name }) => (name === undefined ? [] : [[subject, name]])))
    this.#refused = refused
    this.#label = label
  }

  /** What the page shows for a hash; undefined: the hash. */
  nameOf(id: string): string | undefined {
    const [stored, refused] = [this.#stored.get(id), this.#refused.get(id)]
    if (this.#label === undefined) return stored ?? (refused && shortName(refused))
    const known = refused ?? this.#own.get(id) ?? stored
    return known === undefined ? undefined : this.#label(known)
  }

  /** Whether the subject's whole text can be found by its hash. */
  knows(id: string): boolean {
    return this.#own.has(id) || this.#stored.get(id)?.includes('...') === false
  }
}

/** Puts the windows of each subject together; the one that is nearest to its limit comes first. */
export function bySubject(windows: readonly FoundWindow[], names: Names): ShownSubject[] {
  const groups = new Map<string, ShownWindow[]>()
  for (const { subject, ...window } of windows) {
    const group = groups.get(subject)
    if (group === undefined) groups.set(subject, [window])
    else group.push(window)
  }
  return [...groups].map(([subject, group]) => {
    const sorted = group.sort((a, b) => share(b) - share(a))
    return { subject, name: names.nameOf(subject), known: names.knows(subject), windows: sorted }
  })
}

/** The subjects that a viewer looks for, in the order wanted. */
export function viewed(subjects: readonly ShownSubject[], { find, id, sort }: View): ShownSubject[] {
  const found = find === '' ? [...subjects] : subjects.filter(matcher(find, id))
  return found.sort((a, b) => ORDER[sort](b) - ORDER[sort](a) || ORDER.spent(b) - ORDER.spent(a))
}

/** A hash cannot be turned back, but who knows a subject can look for its hash. */
function matcher(find: string, id: string): (subject: ShownSubject) => boolean {
  const text = find.toLowerCase()
  return ({ subject, name }) =>
    subject === id || subject.includes(find) || (name?.toLowerCase().includes(text) ?? false)
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
