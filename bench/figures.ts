import type { GroupName, LoadName } from './groups'
import type { LoadParameters } from './load-parameters'
import type { Limits, Measured, Memory, Row, Slice } from './measure'
import type { ContestantName } from './server'

/** What a run measured. */
export interface Results {
  readonly measured: Partial<Measured>
  readonly limits: Limits
  readonly memory: Memory | undefined
  readonly parameters: LoadParameters
  readonly minutes: number
}

/** Rows by name, and medians over their rounds. */
export class Figures {
  constructor(readonly measured: Partial<Measured>) {}

  row(group: GroupName, contestant: ContestantName, load: LoadName): Row | undefined {
    return this.measured[group]?.find((row) => row.contestant === contestant && row.load === load)
  }

  /** The median over the rounds of a figure that is made of two rows' slices of the same round. */
  paired(one: Row | undefined, other: Row | undefined, of: (one: Slice, other: Slice) => number): number {
    return median(this.each(one, other, of))
  }

  /** The same, round by round. */
  each(one: Row | undefined, other: Row | undefined, of: (one: Slice, other: Slice) => number): number[] {
    if (!one || !other) return []
    return one.slices.map((slice, round) => of(slice, other.slices[round] as Slice))
  }
}

/** Three figures of four are at least as large. */
export function lowerQuartile(figures: readonly number[]): number {
  const sorted = [...figures].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 4)] ?? NaN
}

export function median(figures: readonly number[]): number {
  const sorted = figures.filter((figure) => !Number.isNaN(figure)).sort((a, b) => a - b)
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.ceil((sorted.length - 1) / 2)]]
  return low === undefined || high === undefined ? NaN : (low + high) / 2
}
