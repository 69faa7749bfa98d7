// A Redis that cannot be used: every store says where, why and what to do, and never a password.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { redisProofs, redisRevocations, redisStore, throttle } from '../../lib/index'
import { redisOAuthStore } from '../../lib/oauth/index'
import { warned } from '../support/heard'
import { seenProofs } from './seen-proofs'
import { type Server, freePort, startRedis } from '../support/redis'
import { assertIs, above, until } from '../support/until'
import { withHelpLink, splitHelpLink } from '../support/help-link'
import { insideOf } from '../../lib/throttle/store/store'

const PASSWORD = 's3cret-of-the-server'
const WRONG = 'hunter2-of-nobody'
let open: Server
let locked: Server
const http = createHttpServer((_req, res) => void res.end())
/** A server that answers one error to all commands, HELLO included. */
const usedUp = createServer((socket) => {
  socket.on('data', (sent) => socket.write('-ERR max requests\r\n'.repeat(String(sent).match(/^\*/gm)?.length ?? 0)))
})
before(async () => {
  ;[open, locked] = await Promise.all([startRedis(), startRedis()])
  await locked.command('CONFIG', 'SET', 'requirepass', PASSWORD)
  for (const server of [http, usedUp]) await once(server.listen(0, '127.0.0.1'), 'listening')
})
after(async () => {
  http.close()
  usedUp.close()
  await Promise.all([open.stop(), locked.stop()])
})
const portOf = (server: typeof usedUp) => (server.address() as AddressInfo).port

/** What is wrong, the URL, and what the message says: cause and remedy. */
const CAUSES: readonly [string, () => string | Promise<string>, RegExp][] = [
  [
    'a server that is down',
    async () => `redis://127.0.0.1:${await freePort()}`,
    /127\.0\.0\.1:\d+ refuses the connection \(ECONNREFUSED\): start it, or correct host and port/,
  ],
  [
    'an unknown host',
    () => 'redis://no-such-host.invalid:6380',
    /no-such-host\.invalid:6380 has an unknown host name \((ENOTFOUND|EAI_AGAIN)\): correct the host name/,
  ],
  [
    'a missing password',
    () => `redis://127.0.0.1:${locked.port}`,
    /127\.0\.0\.1:\d+ asks for a password \(NOAUTH\): give it one: redis:\/\/name:password@host:port/,
  ],
  [
    'a wrong password',
    () => `redis://:${WRONG}@127.0.0.1:${locked.port}`,
    /127\.0\.0\.1:\d+ refuses the password \(WRONGPASS\): correct name and password/,
  ],
  [
    'an HTTP port',
    () => `redis://127.0.0.1:${portOf(http)}`,
    /127\.0\.0\.1:\d+ answers, but not as Redis does \(NOT_REDIS\): correct the port/,
  ],
  [
    'a quota that is used up',
    () => `redis://127.0.0.1:${portOf(usedUp)}`,
    /127\.0\.0\.1:\d+ answers "ERR max requests": see what it means there/,
  ],
  [
    'TLS to a server without TLS',
    () => `rediss://:${WRONG}@127.0.0.1:${open.port}`,
    /127\.0\.0\.1:\d+ does not answer \(ETIMEDOUT\): check .*; a server without TLS needs redis:\/\//,
  ],
  [
    'a database that is not there',
    () => `redis://127.0.0.1:${open.port}/99`,
    /127\.0\.0\.1:\d+ has no such database for this user \(NO_DATABASE\): correct the number at the URL's end/,
  ],
]
const MEANWHILE = {
  local: "Until it answers, each process applies the limits by itself (onOutage: 'local')",
  closed: "Until it answers, requests get 503 (onOutage: 'closed')",
}

const rejection = (promise: Promise<unknown>) =>
  promise.then(
    () => assert.fail('it did not reject'),
    (err: Error) => err,
  )

describe('throttle() over a Redis that cannot be used', () => {
  for (const [i, [name, url, says]] of CAUSES.entries()) {
    const onOutage = i % 2 === 0 ? 'local' : 'closed'
    it(`says of ${name} where, why, what happens now (${onOutage}) and what to do, once, and so does ready()`, async (t) => {
      const to = await url()
      const all = warned(t)
      const store = redisStore(to)
      const beat = t.mock.method(insideOf(store).serverOf(''), 'beat')
      const throttled = throttle({ store, onOutage })
      t.after(() => throttled.close())
      const { message } = await rejection(throttled.ready())
      assert.match(message, says)
      assert.ok(message.endsWith(withHelpLink('TOLLGATE_DEGRADED', MEANWHILE[onOutage])), message)
      const beats = beat.mock.callCount()
      await until(() => beat.mock.callCount(), above(beats + 8))
      assert.equal((await rejection(throttled.ready())).message, message)
      const of = (warning: string) => warning.includes(new URL(to).host) && warning.includes(MEANWHILE[onOutage])
      assert.deepEqual(all.filter(of), [message], 'one warning per outage')
      assert.ok(!all.join().includes(PASSWORD) && !all.join().includes(WRONG))
    })
  }

  it('writes to no other database than the one named', async () => {
    const admin = new Redis(open.port)
    const keys = await admin.keys('*')
    admin.disconnect()
    assert.deepEqual(keys, [])
  })

  it('ready() resolves once Redis answers, and without a store at once', async (t) => {
    const store = redisStore(`redis://127.0.0.1:${open.port}/3`)
    const shard = insideOf(store).serverOf('')
    const beat = shard.beat.bind(shard)
    let answers = 0
    t.mock.method(shard, 'beat', async () => {
      const answer = await beat()
      answers++
      return answer
    })
    const throttled = throttle({ store })
    t.after(() => throttled.close())
    assert.equal(answers, 0)
    await throttled.ready()
    assertIs(answers, above(0))
    await until(async () => (await throttled.usage('ada'))[0]?.degraded, false)
    await throttle().ready()
  })
})

describe('redisStore() over a Redis that opens connections slowly', () => {
  it('ready({ withinMs }) waits for a first answer after 2.5 s', async (t) => {
    const wire = createServer((near) => {
      const far = connect(open.port, '127.0.0.1')
      for (const socket of [near, far]) socket.on('error', () => undefined)
      near.on('close', () => far.destroy()).pipe(far)
      setTimeout(() => far.pipe(near), 2_500) // later answers are not delayed
    }).listen(0, '127.0.0.1')
    await once(wire, 'listening')
    const throttled = throttle({ store: redisStore(`redis://127.0.0.1:${(wire.address() as AddressInfo).port}`) })
    t.after(async () => {
      await throttled.close()
      wire.close()
    })
    await throttled.ready({ withinMs: 60_000 })
    await until(async () => (await throttled.usage('ada'))[0]?.degraded, false)
  })
})

describe('every store over a Redis that cannot be used', () => {
  for (const [name, url, says] of CAUSES) {
    it(`rejects with the same cause: ${name}`, async (t) => {
      const to = await url()
      const [proofs, revocations, oauth] = [seenProofs(to), redisRevocations(to), redisOAuthStore(to)]
      t.after(() => [proofs, revocations, oauth].forEach((each) => void each.close()))
      const note = async () => proofs.note('proof', 60, 0)
      const calls = [note, () => revocations.revokeToken('https://as.test', 'id'), () => oauth.get('key')]
      for (const call of calls) {
        let err: Error | undefined
        await until(async () => says.test((err = await rejection(call())).message)).catch(() => undefined)
        assert.match(String(err?.message), says, String(call))
        assert.equal(err?.name, 'RedisUnavailableError')
      }
    })
  }

  it('takes no URL whose database is no number, and shows no password', () => {
    for (const make of [redisStore, redisProofs, redisRevocations, redisOAuthStore]) {
      assert.throws(
        () => make(`redis://:${WRONG}@localhost/abc`),
        (err: Error) =>
          err instanceof TypeError &&
          /database, .*; received another path$/.test(splitHelpLink(err.message).text) &&
          !err.message.includes(WRONG),
      )
    }
  })
})
