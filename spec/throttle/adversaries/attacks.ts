import { type Socket, connect } from 'node:net'
import type { NextFunction, Request, Response } from 'express'

/** An attacker's request, and what the handler that serves it does beside its work. */
interface Trick {
  /** The handler's begin. */
  readonly begin?: (req: Request, res: Response) => unknown
  /** What works is middleware; a throttle behind it refuses the request. */
  readonly isRefused?: boolean
  /** The handler neither ends its response nor looks at it again. */
  readonly isUnseen?: boolean
  /** All but the first byte of the body is kept back. */
  readonly keepsBody?: boolean
  /** The client resets its connection as soon as it is sent something, which is when the handler works. */
  readonly leaves?: boolean
  /** The client takes nothing of what it is sent. */
  readonly readsNothing?: boolean
}

const full = Buffer.alloc(48 * 2 ** 20)

const TRICKS = {
  slow: {},
  refused: { isRefused: true },
  leaves: { leaves: true, begin: (_req, res) => res.write('a') },
  unseen: { leaves: true, isUnseen: true, begin: (_req, res) => res.write('a') },
  keeps: { keepsBody: true, begin: (req) => req.on('error', () => undefined).resume() },
  stalls: { readsNothing: true, begin: (_req, res) => res.on('drain', () => undefined).write(full) },
} satisfies Record<string, Trick>
export type TrickName = keyof typeof TRICKS

/** What an attacker does in every window, for as long as he is let in. */
export interface Attack {
  readonly tricks: readonly TrickName[]
  /** Quick requests come first, so that the price of what follows is low. */
  readonly isQuickFirst: boolean
  /** Each window on a route of its own. */
  readonly isOnNewRoutes?: boolean
  /** So many of his requests are open at a time. Default: more than may run. */
  readonly open?: number
  /** How many of a subject's requests the throttle lets run at once. */
  readonly concurrency?: number
  /** He asks one process only, in each window another. */
  readonly isMoving?: boolean
  /** Beside them one request after the other blocks the event loop, each for a part of the time that they take. */
  readonly blocks?: { readonly as: 'eve' | 'mallory'; readonly part: number }
}

/**
 * By their rows in docs/security.md. Who asks for fewer at a time overshoots less, and has more places in later windows:
 * `open` is what came to most on average.
 */
export const ATTACKS: Readonly<Record<string, readonly Attack[]>> = {
  'burst on a route new to them': [{ tricks: ['slow'], isQuickFirst: false, isOnNewRoutes: true }],
  'quick requests first, then slow ones': [
    { tricks: ['slow'], isQuickFirst: true },
    { tricks: ['slow'], isQuickFirst: true, open: 6 },
    { tricks: ['slow'], isQuickFirst: true, isOnNewRoutes: true },
  ],
  'the same, with `concurrency: 4`': [
    { tricks: ['slow'], isQuickFirst: true, concurrency: 4 },
    { tricks: ['slow'], isQuickFirst: true, concurrency: 4, open: 3 },
  ],
  'the same, in each window at another process': [
    { tricks: ['slow'], isQuickFirst: true, isMoving: true },
    { tricks: ['slow'], isQuickFirst: true, isMoving: true, open: 6 },
  ],
  'goes away at once, the handler ends the response': [
    { tricks: ['leaves'], isQuickFirst: true },
    { tricks: ['leaves'], isQuickFirst: true, open: 6 },
  ],
  'goes away at once, the handler works on unseen': [
    { tricks: ['unseen'], isQuickFirst: true },
    { tricks: ['unseen'], isQuickFirst: true, open: 2 },
  ],
  'keeps back or dribbles an upload': [
    { tricks: ['keeps'], isQuickFirst: true },
    { tricks: ['keeps'], isQuickFirst: true, open: 8 },
  ],
  'reads slowly, the app works while it waits for `drain`': [
    { tricks: ['stalls'], isQuickFirst: true },
    { tricks: ['stalls'], isQuickFirst: true, open: 6 },
  ],
  'blocks the event loop while other requests wait': [
    { tricks: ['slow'], isQuickFirst: true, open: 6, blocks: { as: 'eve', part: 0.05 } },
    { tricks: ['slow'], isQuickFirst: true, open: 26, blocks: { as: 'eve', part: 0.975 } },
  ],
  'has another user block the event loop': [
    { tricks: ['slow'], isQuickFirst: true, open: 6, blocks: { as: 'mallory', part: 0.05 } },
    { tricks: ['slow'], isQuickFirst: true, blocks: { as: 'mallory', part: 0.975 } },
  ],
  'works between two throttles, the second refuses': [
    { tricks: ['refused'], isQuickFirst: true },
    { tricks: ['refused'], isQuickFirst: true, open: 6 },
  ],
  'all together': [
    { tricks: ['keeps', 'leaves', 'slow', 'stalls', 'unseen'], isQuickFirst: true },
    { tricks: ['keeps', 'leaves', 'slow', 'stalls', 'unseen'], isQuickFirst: true, open: 8 },
  ],
}

/** Serves what {@link Client} asks for: works as long as `work` takes, and plays its part in the trick. */
export function handleAttack(work: (req: Request, done: () => void) => void) {
  return (req: Request, res: Response, next: NextFunction): void => {
    if (req.query.quick !== undefined) return void res.end()
    const trick: Trick = TRICKS[req.query.trick as TrickName]
    trick.begin?.(req, res)
    work(req, () => {
      if (trick.isRefused) next()
      else if (!trick.isUnseen) res.end()
    })
  }
}

let asked = 0

/** One request of an attacker, over a connection of its own. */
export class Client {
  readonly id = String(asked++)
  readonly #trick: Trick
  readonly #socket: Socket

  constructor(port: number, path: string, user: string, trick: TrickName) {
    this.#trick = TRICKS[trick]
    const { keepsBody, leaves, readsNothing } = this.#trick
    const [length, body] = keepsBody ? ['Content-Length: 1000\r\n', 'a'] : ['', '']
    this.#socket = connect(port, '127.0.0.1').on('error', () => undefined)
    if (!readsNothing) this.#socket.on('data', () => (leaves ? this.#socket.resetAndDestroy() : this.#socket.destroy()))
    const target = `${path}?id=${this.id}&trick=${trick}`
    const fields = `Host: x\r\nX-User: ${user}\r\n${length}`
    this.#socket.write(`${methodOf(this.#trick)} ${target} HTTP/1.1\r\n${fields}\r\n${body}`)
  }

  get isOver(): boolean {
    return this.#socket.destroyed
  }

  /** One byte more of a body that is kept back. */
  dribble(): void {
    if (this.#trick.keepsBody && !this.isOver) this.#socket.write('b')
  }

  destroy(): void {
    this.#socket.destroy()
  }
}

/** More quick requests than a price remembers, of each method that the tricks use. Returns how many. */
export function beQuick(url: string, user: string, tricks: readonly TrickName[]): number {
  const methods = [...new Set(tricks.map((name) => methodOf(TRICKS[name])))].flatMap((each) =>
    Array<string>(17).fill(each),
  )
  for (const method of methods)
    void fetch(`${url}?quick`, { method, headers: { 'X-User': user } }).catch(() => undefined)
  return methods.length
}

function methodOf({ keepsBody }: Trick): string {
  return keepsBody ? 'POST' : 'GET'
}
