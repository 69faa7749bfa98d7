import { type Clock, nowUs } from '../../http/clock'
import { deadline, promised } from '../../http/deadline'
import type { Beat } from './store'

/** What a {@link Heartbeat} asks and tells. Times are in µs of the process's clock. */
export interface HeartbeatOwner {
  /** Asks the server. */
  ask(): Promise<Beat>
  /** The server answered, in time or late. */
  answered(sentAt: number): void
  /** It answered the heartbeat in time. */
  heard(beat: Beat, sentAt: number): void
  /** It did not. */
  late(sentAt: number): void
  refused(cause: unknown, sentAt: number): void
  /** Milliseconds until the next heartbeat, when one is over. */
  pauseMs(): number
}

/** Asks a server again and again whether it is there. Only one heartbeat counts at a time. */
export class Heartbeat {
  readonly #clock: Clock
  readonly #deadlineMs: number
  readonly #owner: HeartbeatOwner
  /** The heartbeat whose answer counts. */
  #awaited: object | undefined
  /** The next one: when it is sent, in µs of the process's clock. */
  #nextAt = Infinity
  #cancelNext: (() => void) | undefined
  #isClosed = false

  constructor(clock: Clock, deadlineMs: number, owner: HeartbeatOwner) {
    this.#clock = clock
    this.#deadlineMs = deadlineMs
    this.#owner = owner
  }

  /** Sends one now. The answer to an earlier one does not count any more. */
  send(): void {
    if (this.#isClosed) return
    this.#cancelNext?.()
    this.#nextAt = Infinity
    const owner = this.#owner
    const sentAt = nowUs(this.#clock)
    const beat = (this.#awaited = {})
    const over = (act: () => void) => {
      if (this.#awaited !== beat) return
      cancel()
      this.#awaited = undefined
      act()
      this.sendWithin(owner.pauseMs())
    }
    const cancel = deadline(this.#clock, this.#deadlineMs, () => over(() => owner.late(sentAt)))
    promised(() => owner.ask()).then(
      (answer) => {
        owner.answered(sentAt)
        over(() => owner.heard(answer, sentAt))
      },
      (cause: unknown) => over(() => owner.refused(cause, sentAt)),
    )
  }

  /** Sends the next one after the time, or sooner where it was to be sent sooner; not while one is under way. */
  sendWithin(ms: number): void {
    const at = nowUs(this.#clock) + ms * 1_000
    if (this.#isClosed || this.#awaited !== undefined || this.#nextAt <= at) return
    this.#cancelNext?.()
    this.#nextAt = at
    this.#cancelNext = this.#clock.after(ms, () => this.send())
  }

  close(): void {
    this.#isClosed = true
    this.#cancelNext?.()
    this.#awaited = undefined
  }
}
