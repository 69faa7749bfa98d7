import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type Socket, connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { assertIs, atMost, below, above, until } from '../../support/until'
import type { WaitingLook, WaitingQuestion } from '../processes/waiting-server'
import { TYPESCRIPT, programOf } from '../../support/typescript'

const SUBJECTS = 100
const EACH = 50
const REQUESTS = SUBJECTS * EACH
/** So many wait in a process at most. */
const MOST_WAITING = 4_096
/** Connections are opened so many at a time: more at once would overflow the server's queue. */
const AT_ONCE = 500
/** Of the heap for a request that waits, its connection, request and response included; and what may stay in the end. */
const BYTES_EACH = 25_000
const BYTES_LEFT = 10_000_000

interface Client {
  readonly socket: Socket
  readonly subject: number
  status: number
}

describe('throttle() where 5,000 requests of 100 subjects would wait', { timeout: 600_000 }, () => {
  let server: ChildProcess
  let port: number
  before(async () => {
    const execArgv = ['--expose-gc', ...TYPESCRIPT]
    server = fork(programOf(__dirname, '../processes/waiting-server'), {
      execArgv,
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    ;[port] = (await once(server, 'message')) as [number]
  })
  after(async () => {
    server.kill('SIGKILL')
    await once(server, 'exit')
  })

  async function ask(question: WaitingQuestion): Promise<WaitingLook> {
    server.send(question)
    const [look] = (await once(server, 'message')) as [WaitingLook]
    return look
  }

  async function open(subject: number): Promise<Client> {
    const socket = connect(port, '127.0.0.1')
    const client = { socket, subject, status: 0 }
    socket.on('error', () => undefined)
    socket.once('data', (data) => (client.status = Number(/^HTTP\/1.1 (\d+)/.exec(data.toString())?.[1])))
    await once(socket, 'connect')
    socket.write(`GET / HTTP/1.1\r\nHost: a\r\nX-User: user-${subject}\r\n\r\n`)
    return client
  }

  async function all(requests: number): Promise<Client[]> {
    const clients: Client[] = []
    while (clients.length < requests) {
      const batch = Array.from({ length: Math.min(AT_ONCE, requests - clients.length) }, (_, i) => clients.length + i)
      clients.push(...(await Promise.all(batch.map((n) => open(n % SUBJECTS)))))
    }
    return clients
  }

  it('keeps a bounded number waiting, and gives their memory back when they leave or have been served', async () => {
    const before = await ask('weigh')
    const clients = await all(REQUESTS)
    await until(async () => (await ask('look')).came, REQUESTS)
    const refused = () => clients.filter(({ status }) => status === 429)
    const kept = () => clients.filter(({ status }) => status === 0)
    await until(() => kept().length, atMost(MOST_WAITING + 2 * SUBJECTS))
    assert.equal(refused().length + kept().length, REQUESTS)
    const { running } = await ask('look')
    assert.equal(running, 2 * SUBJECTS)
    const waiting = kept().length - running
    assertIs(waiting, above(3_000), `${waiting} wait`)
    assertIs(waiting, atMost(MOST_WAITING), `${waiting} wait`)
    const served = new Set(kept().map(({ subject }) => subject))
    assert.equal(served.size, SUBJECTS, 'each subject has a place')

    // What is refused keeps its connection, which is the server's memory and not the throttle's.
    for (const { socket } of refused()) socket.destroy()
    await until(async () => (await ask('look')).connections - kept().length, 0)
    const full = (await ask('weigh')).heapBytes - before.heapBytes
    assertIs(full / kept().length, below(BYTES_EACH), `${Math.round(full / kept().length)} bytes for each`)

    const leaving = kept().filter(({ subject }) => subject < SUBJECTS / 2)
    const staying = kept().filter(({ subject }) => subject >= SUBJECTS / 2)
    for (const { socket } of leaving) socket.destroy()
    await until(async () => (await ask('look')).connections, staying.length)
    await ask('tick')
    const half = (await ask('weigh')).heapBytes - before.heapBytes
    const share = staying.length / (staying.length + leaving.length)
    assertIs(half, below(full * (share + 0.2)), `${half} bytes of ${full} where ${share} of the requests are left`)

    await ask('release')
    await until(() => staying.every(({ status }) => status === 200))
    for (const { socket } of staying) socket.destroy()
    await until(async () => (await ask('look')).connections, 0)
    await ask('tick')
    const left = (await ask('weigh')).heapBytes - before.heapBytes
    assertIs(left, below(BYTES_LEFT), `${left} bytes are left`)
  })
})
