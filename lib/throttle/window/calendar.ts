/**
 * Numbers windows. A window's number is ⌊(time + phase) / length⌋ by the store's time and the subject's own phase, so
 * every process, a restarted store and a promoted replica agree on it without asking each other. Microseconds.
 */
export class Calendar {
  constructor(readonly windowUs: number) {}

  /** The number of the window that is open at this time of the store. */
  numberAt(phase: number, time: number): number {
    return Math.floor((time + phase) / this.windowUs)
  }

  /** When the window begins, in the store's time. */
  start(phase: number, number: number): number {
    return number * this.windowUs - phase
  }

  /** When the window ends, in the store's time. */
  end(phase: number, number: number): number {
    return this.start(phase, number) + this.windowUs
  }
}
