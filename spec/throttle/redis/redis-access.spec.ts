// How Redis is reached: TLS, proxies of a Cluster, commands with many subjects, few rights.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Redis } from 'ioredis'
import express, { type Request } from 'express'
import { budgetOf, type StoreMessage, type Usage, redisStore, throttle } from '../../../lib/index'
import { LONG_WINDOW_MS } from '../../chaos/shared-total'
import { serve } from '../../support/serve'
import { heard } from '../../support/heard'
import { missedDeadline } from './missed-deadline'
import { type Server, freePort, redisOfSuite, startRedis } from '../../support/redis'
import { ready } from '../../support/ready'
import { atLeast, including, above, until } from '../../support/until'
import { insideOf } from '../../../lib/throttle/store/store'

const OPTIONS = { limitMs: 86_400_000, windowMs: LONG_WINDOW_MS }

/** Throttles over the store until the spec ends, and says what it says of the store. */
function throttled(t: TestContext, store: ReturnType<typeof redisStore>) {
  const told = heard<StoreMessage & { cause?: Error }>(t, 'degraded')
  const causes = () => told.filter((one) => one.store === store).map(({ cause }) => String(cause?.message))
  const made = throttle({ ...OPTIONS, store })
  t.after(() => made.close())
  const server = insideOf(store).serverOf('')
  const beat = t.mock.method(server, 'beat')
  const beats = () => beat.mock.callCount()
  const degraded = async () => (await made.usage('nobody'))[0]?.degraded === true
  return { causes, degraded, beats }
}

describe('redisStore() over TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'express-tollgate-tls-'))
  const file = (name: string) => join(folder, name)
  let redis: Server
  let port: number

  before(async () => {
    const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
    openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=a CA of our own')
    openssl('req', ...key, '-keyout', 'redis.key', '-out', 'redis.csr', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost') // prettier-ignore
    openssl('x509', '-req', '-in', 'redis.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-copy_extensions', 'copy', '-out', 'redis.pem') // prettier-ignore
    port = await freePort()
    const tls = ['--tls-port', String(port), '--tls-auth-clients', 'no', '--tls-ca-cert-file', file('ca.pem')]
    redis = await startRedis(...tls, '--tls-cert-file', file('redis.pem'), '--tls-key-file', file('redis.key'))
  })
  after(async () => {
    await redis.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it("is a client's that trusts a CA of its own", async (t) => {
    const client = new Redis({ host: 'localhost', port, tls: { ca: readFileSync(file('ca.pem')) } })
    t.after(() => client.disconnect())
    const { degraded } = throttled(t, redisStore(client))
    await until(degraded, false)
  })

  it('refuses a server that no CA it trusts vouches for, and says so', async (t) => {
    const { causes, degraded } = throttled(t, redisStore(`rediss://localhost:${port}`))
    await until(() => causes().length, above(0))
    assert.equal(await degraded(), true)
  })
})

describe('redisStore() where several servers stand behind one address', () => {
  let redis: Server
  before(async () => {
    redis = await startRedis('--cluster-enabled', 'yes') // refuses keys of several slots in one command, as such do
    const admin = new Redis(redis.port)
    await admin.cluster('ADDSLOTSRANGE', 0, 16_383)
    await until(async () => String(await admin.cluster('INFO')), including('cluster_state:ok'))
    admin.disconnect()
  })
  after(() => redis.stop())

  it('asks about each subject by itself, and shares the windows none the less', async (t) => {
    const options = { ...OPTIONS, subject: (req: Request) => req.get('X-User') as string }
    const store = () => redisStore(`redis://127.0.0.1:${redis.port}`)
    const [one, other] = [throttle({ ...options, store: store() }), throttle({ ...options, store: store() })]
    const app = express()
    app.use(one)
    app.get('/:ms', (req, res) => {
      budgetOf(req).charge(Number(req.params.ms))
      res.end()
    })
    const { get } = await serve(app)
    t.after(() => Promise.all([one.close(), other.close()]))
    const users = Array.from({ length: 120 }, (_, i) => `user-${i}`)
    const usageBy = (made: typeof one) => Promise.all(users.map(async (user) => (await made.usage(user))[0] as Usage))
    for (const made of [one, other]) await until(async () => (await made.usage('nobody'))[0]?.degraded, false)
    await Promise.all(users.map((user, i) => get(`/${1_000 * i}`, { 'X-User': user })))
    const isShared = ({ spentMs, degraded }: Usage, i: number) => Math.floor(spentMs / 1_000) === i && !degraded
    await until(async () => (await usageBy(other)).every(isShared))
  })
})

describe('throttle() over Redis that is asked about many subjects', () => {
  const own = redisOfSuite()

  /** A throttle whose script the server has, and how many subjects came in each command. */
  async function watched(t: TestContext) {
    const made = throttle({ ...OPTIONS, store: redisStore(`redis://127.0.0.1:${own.server.port}`) })
    t.after(() => made.close())
    await ready(made)
    await until(async () => (await made.usage('nobody'))[0]?.degraded, false)
    const monitor = await own.redis.monitor()
    t.after(() => monitor.disconnect())
    const sizes: number[] = []
    monitor.on('monitor', (_time: string, [name, , keys, first]: string[], source: string) => {
      const isReport = name?.toLowerCase() === 'evalsha' && String(first).includes(':w4:')
      if (isReport && source !== 'lua') sizes.push(Number(keys))
    })
    return { usage: (user: string) => made.usage(user), sizes }
  }

  it('sends one command for sixteen of them, though the turn goes on', async (t) => {
    const { usage, sizes } = await watched(t)
    await Promise.all(Array.from({ length: 36 }, (_, i) => usage(`one ${i}`)))
    await until(() => sizes.length, atLeast(3))
    assert.deepEqual(sizes, [16, 16, 4])
  })

  it('sends in one command what comes while two are under way', async (t) => {
    const { usage, sizes } = await watched(t)
    own.server.signal('SIGSTOP')
    t.after(() => own.server.signal('SIGCONT'))
    const answers: Promise<unknown>[] = []
    for (let turn = 0; turn < 6; turn++) {
      answers.push(usage(`turn ${turn}`))
      await setImmediate()
    }
    own.server.signal('SIGCONT')
    await Promise.all(answers)
    await until(() => sizes.length, atLeast(3))
    assert.deepEqual(sizes, [1, 1, 4])
  })
})

describe('redisStore() with a Redis user of few rights', () => {
  const NEEDED = [
    ...['+evalsha', '+eval', '+time', '+hgetall', '+hmget', '+hset', '+pexpireat'],
    ...['+zadd', '+zremrangebyscore', '+zcard', '+get', '+set'],
  ]
  const own = redisOfSuite()

  async function user(name: string, commands: readonly string[]): Promise<string> {
    const rights = ['~tollgate:*', 'resetchannels', '-@all', ...commands]
    await own.redis.call('ACL', 'SETUSER', name, 'on', '>secret', ...rights)
    return `redis://${name}:secret@127.0.0.1:${own.server.port}`
  }

  it('works where INFO is denied, heartbeats and all', async (t) => {
    const warn = t.mock.method(console, 'warn', () => undefined) // ioredis says that it could not ask
    const { degraded, causes, beats } = throttled(t, redisStore(await user('uninformed', NEEDED)))
    await until(degraded, false)
    await until(beats, atLeast(3))
    assert.ok(causes().every(missedDeadline), causes().join())
    await until(degraded, false)
    assert.ok(warn.mock.calls.every(({ arguments: [said] }) => /INFO/.test(String(said))))
  })

  for (const missing of NEEDED) {
    it(`says what to allow where ${missing} is missing, and decides alone`, async (t) => {
      await own.redis.script('FLUSH') // or nobody would need EVAL
      const some = NEEDED.filter((right) => right !== missing)
      await own.redis.flushall() // or nobody would need SET
      const { causes, degraded } = throttled(t, redisStore(await user(`not${missing.slice(1)}`, some)))
      await until(async () => (await degraded()) && causes().length > 0)
      assert.match(
        causes().join(),
        /^Redis at 127.0.0.1:\d+ denies its user a right \(.+\): allow the user ~tollgate:\* \+evalsha \+eval /,
      )
      assert.equal(await degraded(), true)
      await own.redis.call('ACL', 'SETUSER', `not${missing.slice(1)}`, missing)
      await until(degraded, false)
      const denied = causes().filter((cause) => /denies its user a right/.test(cause))
      // On a busy machine the server may miss a heartbeat besides.
      assert.equal(denied.length, 1)
    })
  }
})
