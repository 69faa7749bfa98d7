import type { ProcessFigures, RecordTotals } from '../../lib/throttle/redis/window-record'

/** A process's field of a subject's record, as sync.lua packs it. */
export function packFigures({ seq, spent, hold, running, slack, at }: ProcessFigures): Buffer {
  const figures = [packed(seq, 5), packed(spent, 7)]
  if (at !== undefined) figures.push(packed(hold, 7), packed(running, 4), packed(slack, 7), packed(at, 5))
  return Buffer.concat(figures)
}

/** The field `t`. */
export function packTotals({ incarnation, gone, inherited, sum, limit }: RecordTotals, version = 2): Buffer {
  const totals = [packed(version, 1), packed(incarnation, 5), packed(sum, 7)]
  if (gone !== 0 || inherited !== 0) totals.push(packed(gone, 7), packed(inherited, 7))
  if (limit !== undefined) totals.push(packed(limit, 7))
  return Buffer.concat(totals)
}

/** The field `h`. @param each hold, running, slack and processes, of this stretch and of the one before */
export function packHeld(stretch: number, number: number, each: readonly number[]): Buffer {
  const held = each.map((n, i) => packed(n, i % 2 === 0 ? 7 : 4))
  return Buffer.concat([packed(stretch, 4), packed(number, 5), ...held])
}

/** A whole number in so many bytes, the lowest first. */
function packed(n: number, bytes: number): Buffer {
  const eight = Buffer.alloc(8)
  eight.writeBigInt64LE(BigInt(n))
  return eight.subarray(0, bytes)
}
