import type { Request, Response } from 'express'
import type { Clock } from '../http/clock'
import { hasLeft } from '../http/measure/client-gone'
import { Holdings } from '../http/owners'
import { clientBlock } from '../http/request/client-network'
import { warnOnce } from '../http/warn-once'
import { type Overview, snapshot } from './snapshot'
import { type View, viewOf } from './view'

/** How often the page is sent what has changed. */
const EVERY_MS = 2_000
/** Lifetime of a stream. The browser then opens another, so the guard checks again. */
const STREAM_MS = 300_000
const MOST_VIEWERS = 50

interface Viewer {
  readonly res: Response & { flush?: () => void }
  readonly view: View
  readonly block: string
}

/** Browsers that watch by server-sent events, each with a view of its own. While none does, nothing is read. */
export class Viewers {
  readonly #clock: Clock
  readonly #hashOf: (subject: string) => string
  readonly #look: (finds: readonly string[]) => Promise<Overview>
  readonly #viewers = new Set<Viewer>()
  /** The same, by the block of addresses that they came from. */
  readonly #byBlock = new Holdings<Viewer>()
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
    const viewer = { res, view: viewOf(req.originalUrl, this.#hashOf), block: clientBlock(req) }
    if (!this.#hasRoomFor(viewer)) return void res.status(503).set('Retry-After', '30').end()
    this.#viewers.add(viewer)
    this.#byBlock.add(viewer.block, viewer)
    const cancel = this.#clock.after(STREAM_MS, () => res.end())
    res.once('close', () => {
      cancel()
      this.#remove(viewer)
    })
    res.status(200).set({ 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' })
    res.flushHeaders()
    if (this.#latest !== undefined) send(viewer, this.#latest)
    if (!this.#isLooking) void this.#repeat()
  }

  /** Where all places are taken, the oldest viewer of the block with most makes way for one of a block with two fewer. */
  #hasRoomFor({ block }: Viewer): boolean {
    if (this.#viewers.size < MOST_VIEWERS) return true
    const oldest = this.#byBlock.oldestOfHeaviest() as Viewer
    if (this.#byBlock.of(oldest.block) < this.#byBlock.of(block) + 2) return false
    this.#remove(oldest)
    oldest.res.end()
    return true
  }

  #remove(viewer: Viewer): void {
    this.#viewers.delete(viewer)
    this.#byBlock.remove(viewer.block, viewer)
  }

  /** Something happened that they want to see at once. */
  async refresh(): Promise<void> {
    this.#sendAll(await this.#look(this.#finds()))
  }

  close(): void {
    for (const { res } of this.#viewers) res.end()
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
    return [...this.#viewers].map(({ view }) => view.find).filter((find) => find !== '')
  }

  #sendAll(overview: Overview): void {
    this.#latest = overview
    for (const viewer of this.#viewers) send(viewer, overview)
  }
}

/** A viewer who reads slowly misses some. */
function send({ res, view }: Viewer, overview: Overview): void {
  if (res.writableNeedDrain || res.writableEnded) return
  res.write(`data: ${JSON.stringify(snapshot(overview, view))}\n\n`)
  res.flush?.() // of compression(), which would wait for more
}
