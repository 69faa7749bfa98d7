import { usageError } from '../../http/help'
import type { Answer, Report } from '../budget/report'

/** What a process has in a subject's record. Whole microseconds, but for the counts. */
export interface RecordField {
  readonly seq: number
  readonly used: number
  readonly held: number
  readonly ahead: number
  /** When it expires, in µs since 1970 by the server's clock; beyond the year 3000 where nothing goes on. */
  readonly expires: number
  readonly running: number
}

/** Names the record's format in its keys. During a rollout from an older version a subject has a budget in each. */
const FORMAT = 'w4'
/** A process that misses three heartbeats no longer counts as live. */
export const LIVING_MS = 3_000
/** In the keys of heartbeats to the only server; and to the server of a Cluster that keeps this tag's slot. */
export const [ONLY_TAG, FIRST_TAG] = ['beat', '0']
const DOUBLE_BYTES = 8
const WORD = 2 ** 32
/** FIELD in sync.lua. */
export const FIELD_BYTES = 54
/** SUMS in sync.lua. */
const SUMS_BYTES = 64
/** REPLY in sync.lua. */
const REPLY_DOUBLES = 16
/** A hash with a longer value takes three times the memory. */
const NAME_BYTES = 64
/** Bytes kept of the beginning and the end of a name that is too long; the dots between them take three. */
const [NAME_BEGINS, NAME_ENDS] = [21, 40]
const STATUS = ['closed', 'written', 'late', 'unreadable'] as const

/** COMMAND in sync.lua: the names of what {@link figuresOf} lists. */
const FIGURES = [
  ...['starts', 'ends', 'seq', 'flags', 'used', 'held', 'running', 'excused', 'unseen'],
  ...[
    'strain',
    'carried',
    'runsForUs',
    'neededUs',
    'count',
    'firstNeededUs',
    'askedAheadUs',
    'askedAheadPlaces',
    'limit',
    'concurrency',
  ],
]

/** The key of a subject's record. Windows of another length have another one: their numbers say something else. */
export function windowKey(prefix: string, id: string, lengthUs: number, policy: string): string {
  return `${prefix}${FORMAT}:{${id}}:${lengthUs}:${policy}`
}

/** The key of the live processes: a sorted set by the time of the last heartbeat, in ms since 1970. */
export function livingKey(prefix: string, tag: string): string {
  return `${prefix}living:{${tag}}`
}

/** A pattern of SCAN that all windows' keys match. */
export function windowKeyPattern(prefix: string): string {
  return `${prefix.replace(/[\\*?[\]^]/g, '\\$&')}${FORMAT}:{*}:*:*`
}

/** What a key says; undefined for one that is no window's. */
export function parseWindowKey(prefix: string, key: string): { id: string; window: string } | undefined {
  if (!key.startsWith(prefix)) return undefined
  const [, id, window] = /^w4:\{([\w-]{24})\}:\d+:(.*)$/s.exec(key.slice(prefix.length)) ?? []
  return id === undefined || window === undefined ? undefined : { id, window }
}

/**
 * A subject as field `n` keeps it: at most 64 bytes of UTF-8, without characters that a terminal obeys or does not show.
 * Too long a subject loses its middle: its end tells it from others.
 */
export function shortName(subject: string): string {
  const text = subject.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd')
  const bytes = Buffer.from(text)
  if (bytes.length <= NAME_BYTES) return text
  const begins = bytes
    .subarray(0, NAME_BEGINS)
    .toString()
    .replace(/\ufffd{1,3}$/, '')
  const ends = bytes
    .subarray(-NAME_ENDS)
    .toString()
    .replace(/^\ufffd{1,3}/, '')
  return `${begins}...${ends}`
}

/**
 * Packs reports as sync.lua takes them.
 *
 * @throws {RangeError} where a figure is no whole number
 */
export function packReports(reports: readonly Report[]): Buffer {
  const packed = Buffer.allocUnsafe(reports.length * FIGURES.length * DOUBLE_BYTES)
  const view = viewOf(packed)
  let at = 0
  for (const report of reports) {
    const figures = figuresOf(report)
    for (let i = 0; i < figures.length; i++, at += DOUBLE_BYTES) {
      const figure = figures[i] as number
      if (!Number.isSafeInteger(figure))
        throw usageError(`report: ${FIGURES[i]} must be a whole number; received ${figure}`, RangeError)
      view.setFloat64(at, figure, true)
    }
  }
  return packed
}

/** A list: to look each figure up by its name takes several times as long. */
function figuresOf(report: Report): number[] {
  const { account, ends, seq, used, held, running, excused, unseen, strain, carried, past } = report
  const { runsForUs, neededUs, count, firstNeededUs, askedAheadUs, askedAheadPlaces, limit, concurrency } = report
  const { windowUs, carryOvershoot } = account.terms
  const starts = ends - windowUs
  const flags = Number(carryOvershoot) + 2 * Number(past === 'cleared') + 4 * Number(past === 'news')
  // prettier-ignore
  return [
    starts, ends, seq, flags, used, held, running, excused, unseen,
    strain, carried, runsForUs, neededUs, count, firstNeededUs, askedAheadUs, askedAheadPlaces, limit, concurrency,
  ]
}

/**
 * Reads what sync.lua returns.
 *
 * @throws {Error} where it has not one answer for each of the keys
 */
export function readAnswers(keys: readonly string[], reply: unknown): Answer[] {
  const [packed, ...causes] = Array.isArray(reply) ? (reply as unknown[]) : []
  if (!Buffer.isBuffer(packed) || packed.length !== keys.length * REPLY_DOUBLES * DOUBLE_BYTES) {
    throw new Error('sync.lua returned something else than answers')
  }
  const view = viewOf(packed)
  const answers: Answer[] = []
  let unreadable = 0
  for (let at = 0; at < packed.length; at += REPLY_DOUBLES * DOUBLE_BYTES) {
    const time = view.getFloat64(at, true)
    const status = STATUS[view.getFloat64(at + 8, true)] ?? 'unreadable'
    const found = view.getFloat64(at + 16, true)
    if (status === 'unreadable') {
      const cause = `${keys[answers.length]}: ${String(causes[unreadable++])}`
      answers.push({ time, status, found, cause })
    } else if (status !== 'written') answers.push({ time, status, found })
    else {
      const figures = {
        used: view.getFloat64(at + 24, true),
        held: view.getFloat64(at + 32, true),
        aheadOfOthers: view.getFloat64(at + 40, true),
        running: view.getFloat64(at + 48, true),
        excused: view.getFloat64(at + 56, true),
        unseen: view.getFloat64(at + 64, true),
        strain: view.getFloat64(at + 72, true),
        granted: view.getFloat64(at + 80, true),
        count: view.getFloat64(at + 88, true),
        ahead: view.getFloat64(at + 96, true),
        places: view.getFloat64(at + 104, true),
        carried: view.getFloat64(at + 112, true),
        before: view.getFloat64(at + 120, true),
      }
      answers.push({ time, status, found, figures })
    }
  }
  return answers
}

/** Reads and writes numbers several times as fast as a Buffer does. */
function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}

/** Reads a process's field; undefined where it is none. */
export function parseField(packed: Buffer): RecordField | undefined {
  if (packed.length !== FIELD_BYTES) return undefined
  return {
    seq: packed.readUIntLE(0, 5),
    used: signed7(packed, 5),
    held: packed.readUIntLE(12, 6),
    ahead: packed.readUIntLE(18, 6),
    expires: packed.readUIntLE(28, 3) * WORD + packed.readUInt32LE(24),
    running: packed.readUIntLE(31, 3),
  }
}

/** Reads what field `s` has of all processes' used time, the highest limit and the window's end; undefined where it is none. */
export function parseSums(packed: Buffer): { used: number; limit: number; ends: number } | undefined {
  if (packed.length !== SUMS_BYTES) return undefined
  return { used: signed7(packed, 0), limit: packed.readUIntLE(51, 6), ends: signed7(packed, 57) }
}

function signed7(packed: Buffer, at: number): number {
  return packed.readIntLE(at + 4, 3) * WORD + packed.readUInt32LE(at)
}
