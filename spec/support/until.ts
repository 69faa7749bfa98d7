import assert from 'node:assert/strict'
import { inspect, isDeepStrictEqual } from 'node:util'

/** A judge of a value, with the words of what it wants. */
interface Judge<Value> {
  readonly words: string
  readonly is: (value: Value) => unknown
}

/** A value, a pattern of its text, or a judge. */
type Wanted<Value> = Value | RegExp | Judge<Value>

interface Patience {
  readonly about?: string
  readonly ms?: number
  /** The request that leads to what is wanted: an answer to it that comes first fails the wait at once. */
  readonly answer?: Promise<unknown>
}

type Figure = number | undefined
const figure = (words: string, is: (value: number) => boolean): Judge<Figure> => {
  return { words, is: (value) => value !== undefined && is(value) }
}
export const atLeast = (least: number) => figure(`>= ${least}`, (value) => value >= least)
export const atMost = (most: number) => figure(`<= ${most}`, (value) => value <= most)
export const above = (bound: number) => figure(`> ${bound}`, (value) => value > bound)
export const below = (bound: number) => figure(`< ${bound}`, (value) => value < bound)
/** Both bounds belong to the range. */
export const between = (least: number, most: number) => {
  return figure(`from ${least} to ${most}`, (value) => value >= least && value <= most)
}
/** Of a text, a part; of a list, an element. */
export const including = (part: string): Judge<string | readonly string[] | undefined> => {
  return { words: `including ${inspect(part)}`, is: (value) => value?.includes(part) }
}
/** Any value but this. */
export const not = (value: unknown): Judge<unknown> => {
  return { words: `not ${inspect(value)}`, is: (seen) => !isDeepStrictEqual(seen, value) }
}
const anything: Judge<unknown> = { words: 'anything true', is: Boolean }

/** The error of a value that is not as wanted has both. */
export function assertIs<Value>(value: Value, wanted: Wanted<Value>, about = ''): void {
  if (!isAs(value, wanted)) assert.fail(`${about}${about && ': '}${inspect(value)}; wanted: ${wordsOf(wanted)}`)
}

/** What no machine needs. Long runs wait for servers that fail over. */
const LONGEST_MS = Number(process.env.SPEC_UNTIL_MS ?? 20_000)

/** Waits until `look` sees what is wanted, or anything true. The error names both, and what was seen last. */
export async function until<Seen>(
  look: () => Seen | Promise<Seen>,
  wanted: Wanted<Seen> = anything,
  { about = '', ms = LONGEST_MS, answer }: Patience = {},
): Promise<void> {
  const begin = performance.now()
  let answered: string | undefined
  const told = (value: unknown) => (answered ??= inspect((value as { status?: number })?.status ?? value))
  answer?.then(told, told)
  for (;;) {
    const first = answered
    const seen = await look()
    if (isAs(seen, wanted)) return
    const waitedMs = performance.now() - begin
    const why = first ? `answered first: ${first}` : waitedMs > ms ? `not within ${ms} ms` : undefined
    const what = about || look.toString().replace(/import_\w+\./g, '') // as esbuild writes imports
    if (why) assert.fail(`${why}: ${what}\n  saw last: ${inspect(seen)}\n  wanted: ${wordsOf(wanted)}`)
    // What takes long is looked at less often: most of a look's cost is a request.
    await new Promise((resolve) => setTimeout(resolve, Math.min(Math.max(2, waitedMs / 20), 50)))
  }
}

const isJudge = (wanted: unknown): wanted is Judge<unknown> =>
  typeof (wanted as Partial<Judge<unknown>>)?.is === 'function'

function isAs(value: unknown, wanted: unknown): boolean {
  if (isJudge(wanted)) return Boolean(wanted.is(value))
  return wanted instanceof RegExp ? wanted.test(String(value)) : isDeepStrictEqual(value, wanted)
}

const wordsOf = (wanted: unknown) => (isJudge(wanted) ? wanted.words : inspect(wanted))
