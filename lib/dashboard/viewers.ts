import type { Request, Response } from 'express'
import type { Clock } from '../http/clock'
import { hasLeft } from '../http/measure/client-gone'
import { warnOnce } from '../http/warn-once'
import { type Overview, snapshot } from './snapshot'
import { type View, viewOf } from './view'

/** How often the page is sent what has changed. */
const EVERY_MS = 2_000
/** Lifetime of a stream. The browser then opens another, so the guard checks again. */
const STREAM_MS = 300_000
const MOST_VIEWERS = 50

/** Those who watch, by server-sent events, each with a view of their own. While nobody does, nothing is read or runs. */
export class Viewers {
  readonly #clock: Clock
  readonly #hashOf: (subject: string) => string
  readonly #look: (finds: readonly string[]) => Promise<Overview>
  readonly #viewers = new Map<Response, View>()
  #isLooking = false
  #latest: Overview | undefined

  /** @param look gathers what there is to see; it is told what viewers look for */
  constructor(
    clock: Clock,
    hashOf: (subject: string) => string,
    look: (finds: readonly string[]) => Promise<Overview>,
  ) {
    this.#hashOf = hashOf
    this.#clock = clock
    this.#look = look
  }

  /** Somebody watches now. */
  get areThere(): boolean {
    return this.#viewers.size > 0
  }

  /** Keeps the response open and writes to it what there is to see. */
  add(req: Request, res: Response): void {
    if (hasLeft(res)) return // while the guard decided: there is no 'close' any more to give the place back
    if (this.#viewers.size >= MOST_VIEWERS) return void res.status(503).set('Retry-After', '30').end()
    const view = viewOf(req.originalUrl, this.#hashOf)
    this.#viewers.set(res, view)
    const cancel = this.#clock.after(STREAM_MS, () => res.end())
    res.once('close', () => {
      cancel()
      this.#viewers.delete(res)
    })
    res.status(200).set({ 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' })
    res.flushHeaders()
    if (this.#latest !== undefined) send(res, this.#latest, view)
    if (!this.#isLooking) void this.#repeat()
  }

  /** Something happened that they want to see at once. */
  async refresh(): Promise<void> {
    this.#sendAll(await this.#look(this.#finds()))
  }

  close(): void {
    for (const res of this.#viewers.keys()) res.end()
  }

  /**
   * Each look begins when the one before is over: a slow Redis is asked less often. A look that fails ends the streams, and
   * the browsers begin others.
   */
  async #repeat(): Promise<void> {
    this.#isLooking = this.#viewers.size > 0
    if (!this.#isLooking) {
      this.#latest = undefined // the next viewer must not be shown old figures
      return
    }
    try {
      this.#sendAll(await this.#look(this.#finds()))
    } catch (err) {
      warnOnce(
        'TOLLGATE_DASHBOARD',
        `throttleDashboard() cannot collect its figures: ${String(err)}. Browsers connect again. Please report it`,
      )
      this.close()
    }
    this.#clock.after(EVERY_MS, () => void this.#repeat())
  }

  #finds(): string[] {
    return [...this.#viewers.values()].map(({ find }) => find).filter((find) => find !== '')
  }

  #sendAll(overview: Overview): void {
    this.#latest = overview
    for (const [res, view] of this.#viewers) send(res, overview, view)
  }
}

/** A viewer who reads slowly misses some. */
function send(res: Response & { flush?: () => void }, overview: Overview, view: View): void {
  if (res.writableNeedDrain || res.writableEnded) return
  res.write(`data: ${JSON.stringify(snapshot(overview, view))}\n\n`)
  res.flush?.() // of compression(), which would wait for more
}
