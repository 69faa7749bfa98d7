import type { PublishedWindow } from '../inspect/published-window'
import type { Published } from '../inspect/redis-windows'
import type { OverloadMessage } from '../throttle/events'
import { FIRST_VIEW, SORT_KEYS, type View, viewed } from './view'

/** How large the output is, in characters. */
export interface Size {
  /** The windows that do not fit are counted on the last line. */
  readonly rows: number
  /** At least 60. Columns of the table that do not fit are left out; what is still too long is cut. */
  readonly columns: number
}

/** A look at Redis that failed. */
export interface FailedLook {
  readonly cause: Error
  /** Age of the figures that are still shown, in milliseconds. */
  readonly ageMs: number
}

/** For output that is no terminal: nothing is left out or cut. */
export const UNBOUNDED: Size = { rows: Infinity, columns: Infinity }

interface Column {
  readonly title: string
  readonly width: number
  readonly text: (window: PublishedWindow) => string
}

/** A narrow terminal leaves out the last ones first. */
const FIGURES: readonly Column[] = [
  { title: 'USED OF LIMIT', width: 21, text: used },
  { title: 'ENDS IN', width: 9, text: ({ endsInMs }) => duration(endsInMs) },
  {
    title: 'REFUSED FOR',
    width: 11,
    text: ({ refusedForMs }) => (refusedForMs === null ? '' : duration(refusedForMs)),
  },
  { title: 'HOLD', width: 9, text: ({ holdMs }) => seconds(holdMs) },
  { title: 'RUNNING', width: 7, text: ({ running }) => String(running) },
  { title: 'PROCESSES', width: 9, text: ({ processes }) => String(processes) },
]
/** From left to right. */
const ORDER = ['USED OF LIMIT', 'REFUSED FOR', 'HOLD', 'RUNNING', 'PROCESSES', 'ENDS IN']
const [HASH, CUT_HASH, SHORTEST_WINDOW] = [24, 14, 10]
/** The end of a long name tells subjects apart, so the middle gives way. */
const NAME_END = 12

/** All windows, printed once. */
export function table(published: Published, size: Size): string {
  return `${lines(published, FIRST_VIEW, size).join('\n')}\n`
}

/**
 * Fills a terminal: exactly `rows` lines, none wider than `columns`.
 *
 * @param failed why the last look failed, and how old the figures are
 */
export function screen(published: Published, view: View, size: Size, failed?: FailedLook): string[] {
  const failure = failed === undefined ? [] : [cut(failureLine(failed), size.columns)]
  const shown = [...failure, ...lines(published, view, { ...size, rows: size.rows - 1 - failure.length })]
  const empty = Array<string>(Math.max(0, size.rows - 1 - shown.length)).fill('')
  return [...shown, ...empty, cut(plain(hint(view, size.columns)), size.columns)].slice(-size.rows)
}

function failureLine({ cause, ageMs }: FailedLook): string {
  const age = duration(Math.round(ageMs / 1_000) * 1_000).replace('.0', '')
  return `! figures of ${age} ago: ${plain(cause.message)}`
}

/** The last line: which keys there are, and the one that sorts. */
function hint(view: View, columns: number): string {
  if (view.isTyping) return `/${view.filter}_`
  const chosen = (key: string, text: string) => (key === view.sort ? `[${text}]` : text)
  const named = Object.entries(SORT_KEYS).map(([key, name]) => chosen(key, `${key} ${name}`))
  const letters = Object.keys(SORT_KEYS).map((key) => chosen(key, key))
  const always = ['q quit', view.filter ? `/ ${view.filter}` : '/ filter']
  const whole = [...always, ...named].join('  ')
  return whole.length <= columns ? whole : [...always, `sort by ${letters.join(' ')}`].join('  ')
}

function lines(published: Published, view: View, { rows, columns }: Size): string[] {
  const { windows, refused, overloads, processes, trouble } = published
  const found = viewed(windows, view)
  const sum = (of: 'spentMs' | 'holdMs') => seconds(found.reduce((total, window) => total + window[of], 0))
  const over = found.filter(({ overLimitMs }) => overLimitMs !== null).length
  const living = processes === undefined ? '' : `, ${processes} process${processes === 1 ? ' lives' : 'es live'}`
  const head = `${found.length} open window${found.length === 1 ? '' : 's'}, ${over} over the limit, ${sum('spentMs')} spent, ${sum('holdMs')} on hold${living}`
  const load = overloads.length === 0 ? [] : [overloadLine(overloads)]
  const notes = [refusedLine(refused), ...load, ...(trouble === undefined ? [] : [`! ${plain(trouble)}`])]
  const room = rows - 3 - notes.length
  const shown = found.length <= room ? found : found.slice(0, Math.max(1, room - 1))
  const row = rowFor(shown, columns)
  const more = shown.length < found.length ? [`and ${found.length - shown.length} more`] : []
  return [head, ...notes, '', row(), ...shown.map(row), ...more].map((line) => cut(line, columns))
}

/** Requests refused in the last minute, the commonest reason first. */
function refusedLine(refused: Published['refused']): string {
  const reasons = Object.entries(refused).sort(([, a], [, b]) => b - a)
  const total = reasons.reduce((sum, [, count]) => sum + count, 0)
  const each = reasons.map(([reason, count]) => `${count} ${reason}`).join(', ')
  return `${total} refused in the last minute${total === 0 ? '' : `: ${each}`}`
}

/** What processes shed, the one that sheds most first. */
function overloadLine(overloads: readonly OverloadMessage[]): string {
  const share = Math.min(...overloads.map((overload) => overload.share))
  const refused = overloads.reduce((sum, overload) => sum + overload.refusedRequests, 0)
  const delayMs = Math.max(...overloads.map((overload) => overload.delayMs))
  const count = `${overloads.length} overloaded process${overloads.length === 1 ? '' : 'es'}`
  return `${count}: ${refused} refused, ${Math.round(share * 100)} % of the work let in, event loop ${delayMs} ms late`
}

/** Returns what formats one line of the table; without a window, its heading. Names take what the figures leave. */
function rowFor(shown: readonly PublishedWindow[], columns: number): (window?: PublishedWindow) => string {
  const hash = columns < 80 ? CUT_HASH : HASH
  let left = columns - hash - 1 - SHORTEST_WINDOW
  const fitting = FIGURES.filter(({ width }) => (left -= width + 1) >= 0).map(({ title }) => title)
  const figures = ORDER.filter((title) => fitting.includes(title)).flatMap((title) =>
    FIGURES.filter((figure) => figure.title === title),
  )
  const widest = (texts: readonly string[]) => texts.reduce((width, { length }) => Math.max(width, length), 0)
  const others = figures.reduce((sum, { width }) => sum + width + 1, 2 + widest(shown.map(windowName)))
  const width = Math.max(hash, Math.min(columns - others, widest(shown.map(subjectName))))
  return (window) => {
    const subject = cutMiddle(window === undefined ? 'SUBJECT' : subjectName(window), width).padEnd(width)
    const cells = figures.map(({ title, width, text }) => {
      return (window === undefined ? title : text(window)).padStart(width)
    })
    return [subject, ...cells, ` ${window === undefined ? 'WINDOW' : windowName(window)}`].join(' ')
  }
}

/** A mark says that it is over the limit: requests are refused until the window ends. */
function used({ spentMs, limitMs, overLimitMs }: PublishedWindow): string {
  return `${overLimitMs === null ? '' : '! '}${seconds(spentMs)} of ${seconds(limitMs)}`
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`

function duration(ms: number): string {
  if (ms < 120_000) return seconds(ms)
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${(ms / 3_600_000).toFixed(1)} h`
}

const subjectName = ({ name, subject }: PublishedWindow) => plain(name ?? subject)
const windowName = ({ window }: PublishedWindow) => plain(window)

function cutMiddle(text: string, columns: number): string {
  if (text.length <= columns) return text
  return `${text.slice(0, columns - 1 - NAME_END)}…${text.slice(-NAME_END)}`
}

function cut(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, columns - 1)}…`
}

/** What a terminal would obey, or show as nothing or the wrong way round, is shown as its code point. */
export function plain(text: string): string {
  return text.replace(/[^\x20-\x7e]/gu, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`)
}

/** JSON in ASCII: what a terminal would obey is escaped, also inside of the texts of others. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Cuts every URL in a text: one that was given in the wrong place may hold a password. */
export function withoutUrls(text: string): string {
  return text.replace(/(:\/\/)\S+/g, '$1...')
}
