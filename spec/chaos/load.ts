import { request } from 'node:http'
import type { Api } from './apis'

/** One request, as its client saw it. */
export interface Shot {
  readonly user: string
  readonly sentAt: number
  /** 0: the connection failed, or the client went away. */
  readonly status: number
  readonly tookMs: number
  readonly retryAfter: string | undefined
}

/** Asks once over a kept-alive connection. */
export function shoot(api: Api, path: string, user: string): Promise<Shot> {
  const sentAt = performance.now()
  return new Promise((resolve) => {
    const done = (status: number, retryAfter?: string) =>
      resolve({ user, sentAt, status, tookMs: performance.now() - sentAt, retryAfter })
    const req = request({
      host: '127.0.0.1',
      port: api.port,
      path,
      agent: api.agent,
      headers: { 'x-user': user },
    })
    req.once('response', (res) => {
      res.resume()
      res.once('end', () => done(res.statusCode ?? 0, res.headers['retry-after']))
      res.once('error', () => done(0))
    })
    req.once('error', () => done(0))
    req.end()
  })
}

export interface LoadPlan {
  readonly perSecond: number
  /** The next request: where it goes, for whom. */
  next(): { readonly api: Api; readonly path: string; readonly user: string }
}

/** Requests at a steady rate, whatever becomes of the earlier ones. */
export class Load {
  readonly shots: Shot[] = []
  readonly #open = new Set<Promise<unknown>>()
  readonly #timer: NodeJS.Timeout
  readonly #startedAt = performance.now()
  readonly #sentTo = new Map<Api, number>()
  #sent = 0
  #stoppedAt = 0

  constructor(plan: LoadPlan) {
    this.#timer = setInterval(() => {
      const due = Math.floor(((performance.now() - this.#startedAt) * plan.perSecond) / 1_000)
      // After a stall of this process the rate goes on; what was missed is not made up for in one burst.
      if (due - this.#sent > plan.perSecond / 10) this.#sent = due - Math.ceil(plan.perSecond / 10)
      for (; this.#sent < due; this.#sent++) {
        const { api, path, user } = plan.next()
        this.#sentTo.set(api, this.sentTo(api) + 1)
        const open = shoot(api, path, user).then((shot) => {
          this.shots.push(shot)
          this.#open.delete(open)
        })
        this.#open.add(open)
      }
    }, 5)
  }

  /** How many requests have gone to a process, answered or not. */
  sentTo(api: Api): number {
    return this.#sentTo.get(api) ?? 0
  }

  get perSecond(): number {
    return (this.shots.length * 1_000) / ((this.#stoppedAt || performance.now()) - this.#startedAt)
  }

  /** Sends no more, and waits for the answers. */
  async stop(): Promise<Shot[]> {
    clearInterval(this.#timer)
    this.#stoppedAt ||= performance.now()
    await Promise.all(this.#open)
    return this.shots
  }
}
