import type { SyncCommand, SyncReply } from '../sync/sync-protocol'
import { syncLua } from './assets'

/** What a process has in a subject's record. Whole microseconds, but for the counts. */
export interface ProcessFigures {
  readonly seq: number
  readonly spent: number
  readonly hold: number
  readonly running: number
  readonly slack: number
  /** When it was written, in milliseconds from the window's start; undefined where nothing is going on. */
  readonly at: number | undefined
}

/** What a record has of all processes together. Whole microseconds, but for the first. */
export interface RecordTotals {
  /** When the record was made, in milliseconds from the window's start. */
  readonly incarnation: number
  /** What closed processes have handed over. */
  readonly gone: number
  /** What was taken over from an earlier incarnation that was lost. */
  readonly inherited: number
  /** The sum of spent over the processes' fields. */
  readonly sum: number
  /** The limit, where it is exceeded. */
  readonly limit: number | undefined
}

/** The parameters of the script's sync(), in their order, whose names are the command's. */
const PARAMETERS = (/function sync\(key, process, ([^)]*)\)/.exec(syncLua)?.[1] ?? '').split(/,\s*/) as Figure[]
type Figure = Exclude<keyof SyncCommand, 'id' | 'number' | 'process'>
/** Names the format of the records in their keys. One that this version could not read or would damage has another name. */
const FORMAT = 'w2'
/** The version of the format: see TOTALS in sync.lua. */
const VERSION = 2
const WORD = 2 ** 32
const DOUBLE_BYTES = 8
/** REPLY in sync.lua: eleven doubles. The second says what the others are. */
const REPLY_BYTES = 11 * DOUBLE_BYTES
const NOTHING = 0
const WRITTEN = 1

/** The key of a subject's window. On a Cluster all windows of a subject are in one slot. */
export function windowKey(prefix: string, id: string, number: number, window: string): string {
  return `${prefix}${FORMAT}:{${id}}:${number}:${window}`
}

/** A pattern of SCAN that all windows' keys match. */
export function windowKeyPattern(prefix: string): string {
  return `${prefix.replace(/[\\*?[\]^]/g, '\\$&')}${FORMAT}:{*}:*:*`
}

/** What a key says; undefined for one that is no window's. */
export function parseWindowKey(prefix: string, key: string): { id: string; window: string } | undefined {
  const [, id, window] = /^w2:\{([\w-]{24})\}:\d+:(.*)$/s.exec(key.slice(prefix.length)) ?? []
  return id === undefined || window === undefined ? undefined : { id, window }
}

/** The first figure that is no whole number; undefined where there is none. */
export function faultIn(command: SyncCommand): RangeError | undefined {
  for (const name of PARAMETERS) {
    const n = Number(command[name])
    if (!Number.isSafeInteger(n)) return new RangeError(`sync: ${name} must be a whole number; received ${n}`)
  }
  return undefined
}

/** Packs commands as sync.lua takes them. */
export function packCommands(commands: readonly SyncCommand[]): Buffer {
  let bytes = 0
  for (const { process } of commands) bytes += Buffer.byteLength(process) + 1 + PARAMETERS.length * DOUBLE_BYTES
  const packed = Buffer.allocUnsafe(bytes)
  const view = viewOf(packed)
  let at = 0
  for (const command of commands) {
    at = packed.writeUInt8(0, at + packed.write(command.process, at))
    for (const name of PARAMETERS) {
      view.setFloat64(at, Number(command[name]), true)
      at += DOUBLE_BYTES
    }
  }
  return packed
}

/**
 * Reads what sync.lua answers.
 *
 * @param keys that were asked about
 * @throws {Error} where it is no answer to so many
 */
export function readReplies(keys: readonly string[], reply: unknown): SyncReply[] {
  const [packed, ...causes] = Array.isArray(reply) ? (reply as unknown[]) : []
  if (!Buffer.isBuffer(packed) || packed.length !== keys.length * REPLY_BYTES) {
    throw new Error('sync.lua answered something else than replies')
  }
  const view = viewOf(packed)
  let unreadable = 0
  return keys.map((key, i) => {
    const at = i * REPLY_BYTES
    const figure = (n: number) => view.getFloat64(at + n * DOUBLE_BYTES, true)
    const [time, state] = [figure(0), figure(1)]
    if (state === NOTHING) return { time }
    if (state !== WRITTEN) return { time, unreadable: `${key}: ${String(causes[unreadable++])}` }
    const written = {
      othersSpent: figure(2),
      othersRunning: figure(3),
      othersHeld: figure(4),
      granted: figure(5),
      more: figure(6),
      lone: figure(7) === 1,
      found: figure(8),
      incarnation: figure(9),
      ended: figure(10),
    }
    return { time, written }
  })
}

/** Reads and writes numbers several times as fast as a Buffer does. */
function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}

/** Reads a process's field; undefined where it is none. */
export function parseFigures(packed: Buffer): ProcessFigures | undefined {
  if (packed.length !== 12 && packed.length !== 35) return undefined
  const [seq, spent] = [packed.readUIntLE(0, 5), sevenBytes(packed, 5)]
  if (packed.length === 12) return { seq, spent, hold: 0, running: 0, slack: 0, at: undefined }
  const [hold, running, slack] = [sevenBytes(packed, 12), packed.readUInt32LE(19), sevenBytes(packed, 23)]
  return { seq, spent, hold, running, slack, at: packed.readUIntLE(30, 5) }
}

/** Reads the field `t`; undefined where it is none of this version. */
export function parseTotals(packed: Buffer): RecordTotals | undefined {
  const beyond = packed.length - 13
  if (![0, 7, 14, 21].includes(beyond) || packed[0] !== VERSION) return undefined
  const [gone, inherited] = beyond >= 14 ? [sevenBytes(packed, 13), sevenBytes(packed, 20)] : [0, 0]
  const limit = beyond % 14 === 7 ? sevenBytes(packed, packed.length - 7) : undefined
  return { incarnation: packed.readUIntLE(1, 5), sum: sevenBytes(packed, 6), gone, inherited, limit }
}

function sevenBytes(packed: Buffer, at: number): number {
  return packed.readIntLE(at + 4, 3) * WORD + packed.readUInt32LE(at)
}
