import type { Duplex } from 'node:stream'
import { EVEN_USERS, HOT_USER, ZIPF_EXPONENT, ZIPF_USERS } from './load-parameters'

/** What is asked for, and by whom. */
export interface Load {
  readonly port: number
  /** Who asks: one user, all in turn, or all by Zipf's law. */
  readonly users: 'hot' | 'even' | 'zipf' | number
  readonly paths?: readonly string[]
  /** Sent in turn, in place of `X-User`. */
  readonly tokens?: readonly string[]
  /** The whole request, where it is not a GET. */
  readonly raw?: string
  readonly connections: number
  /** Ends after so long, or after so many requests. */
  readonly ms?: number
  readonly count?: number
  readonly expect: number
}

export interface Loaded {
  /** What each request took. */
  readonly tookMs: readonly number[]
  /** Until the last answer. */
  readonly ms: number
  /** Answers with another status than was expected. */
  readonly wrong: Readonly<Record<string, number>>
}

const requestsOf = new Map<string, { readonly requests: readonly Buffer[]; readonly order: Uint32Array }>()
const placeOf = new Map<string, number>()

/**
 * Keeps the connections busy, one request at a time on each. Where requests differ by their user they are to cost the
 * generator nothing: all of them lie ready as bytes, and of an answer no more is read than its status and its length.
 *
 * @param open makes a connection, which says `connect` as a socket does
 * @param isAwake does not sleep meanwhile
 */
export function generate(load: Load, open: () => Duplex, isAwake = false): Promise<Loaded> {
  const { port, connections, expect, count = Infinity, ms = Infinity } = load
  const key = JSON.stringify({ ...load, port: undefined, count: undefined, ms: undefined })
  const ready = requestsOf.get(key) ?? prepare(load)
  requestsOf.set(key, ready)
  const { requests, order } = ready
  const place = `${port} ${key}`
  let at = placeOf.get(place) ?? 0 // a server's next slice goes on where the last one ended
  const first = at
  const tookMs: number[] = []
  const wrong: Record<string, number> = {}
  const begun = performance.now()
  let last = begun

  return new Promise((resolve, reject) => {
    let left = connections
    for (let i = 0; i < connections; i++) connection()
    if (isAwake) stayAwake()

    function stayAwake(): void {
      if (left > 0) setImmediate(stayAwake)
    }

    function connection(): void {
      const socket = open()
      let sentAt = 0
      let rest = ''
      const send = () => {
        const sent = at - first // something is sent even where the machine is so busy that the slice is over at once
        if (sent >= count || (sent >= connections && performance.now() - begun >= ms)) return void socket.end()
        sentAt = performance.now()
        socket.write(requests[order[at++ % order.length] as number])
      }
      socket.setEncoding('latin1')
      socket.on('connect', send)
      socket.on('error', reject)
      socket.on('data', (text: string) => {
        rest = rest === '' ? text : rest + text
        const status = answered(rest)
        if (status === undefined) return
        rest = ''
        last = performance.now()
        tookMs.push(last - sentAt)
        if (status !== expect) wrong[status] = (wrong[status] ?? 0) + 1
        send()
      })
      socket.on('close', () => {
        if (--left > 0) return
        placeOf.set(place, at)
        resolve({ tookMs, ms: last - begun, wrong })
      })
    }
  })
}

/** The status, once the whole answer is there. */
function answered(text: string): number | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const length = /\r\ncontent-length: (\d+)/i.exec(text)
  const body = text.length - end - 4
  if (length ? body < Number(length[1]) : !text.endsWith('\r\n0\r\n\r\n')) return undefined
  return Number(text.slice(9, 12))
}

function prepare({ users, paths = ['/'], tokens, raw }: Load) {
  const one = (fields: string, i: number) =>
    Buffer.from(`GET ${paths[i % paths.length] ?? '/'} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n\r\n`)
  if (raw !== undefined) return { requests: [Buffer.from(raw)], order: Uint32Array.of(0) }
  if (tokens) {
    const requests = tokens.map((token, i) => one(`Authorization: Bearer ${token}`, i))
    return { requests, order: Uint32Array.from(requests.keys()) }
  }
  const many = { hot: paths.length, even: EVEN_USERS, zipf: ZIPF_USERS }[users as string] ?? Number(users)
  const requests = Array.from({ length: many }, (_, i) => one(`X-User: ${users === 'hot' ? HOT_USER : `u${i}`}`, i))
  return { requests, order: users === 'zipf' ? zipf(many) : Uint32Array.from(requests.keys()) }
}

/** So many users that the sequence does not come round within a slice; the same in every run. */
function zipf(users: number): Uint32Array {
  const sums = new Float64Array(users)
  let sum = 0
  for (let i = 0; i < users; i++) sums[i] = sum += 1 / (i + 1) ** ZIPF_EXPONENT
  let seed = 1
  return Uint32Array.from({ length: 1 << 18 }, () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    const wanted = (seed / 2 ** 32) * sum
    let low = 0
    for (let high = users - 1; low < high;) {
      const middle = (low + high) >> 1
      if ((sums[middle] as number) < wanted) low = middle + 1
      else high = middle
    }
    return low
  })
}
