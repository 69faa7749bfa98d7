import type { Request, Response } from 'express'
import type { Clock } from '../http/clock'

/** How often the page hears news. */
const EVERY_MS = 2_000
/** A stream ends after so long, and the browser begins another: so the guard is asked again. */
const STREAM_MS = 300_000
const MOST_VIEWERS = 50

/** Those who watch, by server-sent events. While nobody does, nothing is read and nothing runs. */
export class Viewers {
  readonly #clock: Clock
  readonly #news: () => Promise<object>
  readonly #viewers = new Set<Response>()
  #looking = false
  #latest = ''

  constructor(clock: Clock, news: () => Promise<object>) {
    this.#clock = clock
    this.#news = news
  }

  get size(): number {
    return this.#viewers.size
  }

  /** Keeps the response open and tells it news. */
  add(req: Request, res: Response): void {
    if (this.#viewers.size >= MOST_VIEWERS) return void res.status(503).set('Retry-After', '30').end()
    this.#viewers.add(res)
    const cancel = this.#clock.after(STREAM_MS, () => res.end())
    res.once('close', () => {
      cancel()
      this.#viewers.delete(res)
    })
    res.status(200).set({ 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' })
    res.flushHeaders()
    if (this.#latest !== '') tell(res, this.#latest)
    if (!this.#looking) void this.#look()
  }

  /** Something happened that they want to see at once. */
  async refresh(): Promise<void> {
    this.#tell(await this.#news())
  }

  close(): void {
    for (const res of this.#viewers) res.end()
  }

  /** Each look begins when the one before is over: a slow Redis is asked less often. */
  async #look(): Promise<void> {
    this.#looking = this.#viewers.size > 0
    if (!this.#looking) {
      this.#latest = '' // whoever comes next is not shown what is old
      return
    }
    this.#tell(await this.#news())
    this.#clock.after(EVERY_MS, () => void this.#look())
  }

  #tell(news: object): void {
    this.#latest = `data: ${JSON.stringify(news)}\n\n`
    for (const res of this.#viewers) tell(res, this.#latest)
  }
}

/** A viewer who reads slowly misses some. */
function tell(res: Response & { flush?: () => void }, event: string): void {
  if (res.writableNeedDrain || res.writableEnded) return
  res.write(event)
  res.flush?.() // of compression(), which would wait for more
}
