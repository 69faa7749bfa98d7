// The process that asks: it keeps connections busy, one request at a time on each, and reads no more of an answer than
// its status and length. It never sleeps meanwhile: the system would charge the server with waking it.
import { connect } from 'node:net'
import { LOADS, type LoadName, requestsOf } from './loads'

export interface Asked {
  readonly port: number
  readonly load: LoadName
  readonly tokens: readonly string[]
  readonly connections: number
  readonly ms: number
}

export interface Answered {
  readonly count: number
  readonly ms: number
}

const prepared = new Map<LoadName, Buffer[]>()
const sent = new Map<string, number>()

process.on('message', (asked: Asked) => {
  generate(asked).then(
    (answered) => process.send?.(answered),
    (err: unknown) => process.send?.({ error: String(err) }),
  )
})
process.on('disconnect', () => process.exit())

function generate({ port, load, tokens, connections, ms }: Asked): Promise<Answered> {
  const requests = prepared.get(load) ?? requestsOf(load, tokens)
  prepared.set(load, requests)
  const place = `${port} ${load}` // a server's next slice goes on where the last one ended
  let at = sent.get(place) ?? 0
  let count = 0
  let open = connections
  const begun = performance.now()
  let last = begun

  return new Promise((resolve, reject) => {
    for (let i = 0; i < connections; i++) connection()
    const stayAwake = () => void (open > 0 && setImmediate(stayAwake))
    stayAwake()

    function connection(): void {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      let rest = ''
      let asked = 0
      const send = () => {
        if (asked++ > 0 && performance.now() - begun >= ms) return void socket.end()
        socket.write(requests[at++ % requests.length] as Buffer)
      }
      socket.setEncoding('latin1')
      socket.on('connect', send)
      socket.on('error', reject)
      socket.on('data', (text: string) => {
        rest += text
        const status = statusOf(rest)
        if (status === undefined) return
        rest = ''
        last = performance.now()
        count++
        // The first ones of a load of refusals pass.
        if (status !== LOADS[load].expect && (load !== 'refused' || asked > 5)) {
          return void reject(new Error(`answered ${status} to ${load}`))
        }
        send()
      })
      socket.on('close', () => {
        if (--open > 0) return
        sent.set(place, at)
        resolve({ count, ms: last - begun })
      })
    }
  })
}

/** The status, once the whole answer is there. */
function statusOf(text: string): number | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const length = /\r\ncontent-length: (\d+)/i.exec(text)
  const isWhole = length ? text.length - end - 4 >= Number(length[1]) : text.endsWith('\r\n0\r\n\r\n')
  return isWhole ? Number(text.slice(9, 12)) : undefined
}
