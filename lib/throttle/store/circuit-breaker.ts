/** It opens after this time without any answer, or after three deadlines where those are longer. */
const SILENT_US = 250_000
const SILENT_DEADLINES = 3
/** It opens, too, when no answer came in time for this long, or for eight deadlines: the server is too far away. */
const LATE_US = 2_000_000
const LATE_DEADLINES = 8
/** It closes when heartbeats were answered for this long. */
const GOOD_US = 1_000_000

/**
 * Whether a server is asked. `closed`: it is. `open`: it does not answer, and nothing but heartbeats is sent. `halfOpen`: it
 * answers heartbeats again, or is not known yet. Times are µs of the process's clock.
 */
export class CircuitBreaker {
  state: 'closed' | 'open' | 'halfOpen' = 'halfOpen'
  /** When it was last closed; at first, when it was made. */
  openedAt: number
  /** The server has answered since the process started. */
  wasClosed = false
  readonly #deadlineUs: number
  /** The first command that was sent since the last answer, and since the last one in time; undefined while they come. */
  #silentSince: number | undefined
  #lateSince: number | undefined
  /** Since when it is half-open. */
  #goodSince = 0

  constructor(deadlineUs: number, now: number) {
    this.#deadlineUs = deadlineUs
    this.openedAt = now
  }

  /** A command failed, or was not answered in time, and none that was sent later was answered. */
  get isDoubted(): boolean {
    return this.#silentSince !== undefined
  }

  /** Commands are answered, though none in time. */
  get isLate(): boolean {
    return this.#silentSince === undefined && this.#lateSince !== undefined
  }

  /** A command was answered, in time or late. */
  answered(sentAt: number, now: number): void {
    this.#silentSince = undefined
    if (now - sentAt <= this.#deadlineUs) this.#lateSince = undefined
    if (this.state === 'open') this.#halfOpen(now)
  }

  /** A heartbeat was answered in time. */
  heard(now: number): void {
    if (this.wasClosed && (this.state !== 'halfOpen' || now - this.#goodSince < GOOD_US)) return
    this.state = 'closed'
    this.wasClosed = true
  }

  /** A command was not answered in time. */
  missed(sentAt: number, now: number): void {
    this.#lateSince ??= sentAt
    this.#silentSince ??= sentAt
    const isSilent = now - this.#silentSince >= Math.max(SILENT_US, SILENT_DEADLINES * this.#deadlineUs)
    const isLate = now - this.#lateSince >= Math.max(LATE_US, LATE_DEADLINES * this.#deadlineUs)
    if (isSilent || (isLate && this.state === 'closed')) this.#open(now)
  }

  /**
   * A command failed: there is no connection, or the server refused it.
   *
   * @param cause a refusal opens the breaker: the server would refuse the next command as well
   */
  failed(cause: unknown, sentAt: number, now: number): void {
    this.#silentSince ??= sentAt
    const isSilent = now - this.#silentSince >= Math.max(SILENT_US, SILENT_DEADLINES * this.#deadlineUs)
    if (isSilent || isReply(cause) || this.state === 'halfOpen') this.#open(now)
  }

  #halfOpen(now: number): void {
    this.state = 'halfOpen'
    this.#goodSince = now
  }

  #open(now: number): void {
    if (this.state === 'closed') this.openedAt = now
    this.state = 'open'
  }
}

/** Whether a server that answers has refused a command: it would refuse the next one as well. */
function isReply(cause: unknown): boolean {
  const { name, isReply = name === 'ReplyError' } = (cause ?? {}) as { name?: unknown; isReply?: unknown }
  return isReply === true
}
