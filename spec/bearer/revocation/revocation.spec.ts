import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { redisRevocations, type BearerOptions, type RedisRevocationsOptions, type Session } from '../../../lib/index'
import { auth0, cognito, okta, supabase } from '../../../lib/providers/index'
import { type Revocation, RevocationList, entriesOf } from '../../../lib/bearer/revocation/revocation-list'
import { devIssuer, manualClock, type DevTokenOptions } from '../../../lib/testing/index'
import { freePort, startRedis } from '../../support/redis'
import { assertIs, above, until } from '../../support/until'
import { warned } from '../../support/heard'
import { apiOf } from '../api'

const dev = devIssuer()
const { issuer } = dev

/** A slow machine is no outage: `maxOutageMs` is an hour unless the spec sets another. */
function follower(port: number, options: RedisRevocationsOptions = {}) {
  const revocation = redisRevocations(`redis://127.0.0.1:${port}`, { maxOutageMs: 3_600_000, ...options })
  after(() => revocation.close())
  return revocation
}

const asking = async (revocation: BearerOptions['revocation']) => (await apiOf({ ...dev.options, revocation })).ask

function entryOf({
  overMs,
  ...given
}: Pick<Revocation, 'kind' | 'issuer' | 'id'> & { beforeSec?: number; overMs: number }) {
  const [first] = entriesOf({ beforeSec: 0, ...given, untilSec: overMs / 1_000 })
  return first?.entry as string
}

function session(who: string, options: Partial<DevTokenOptions['claims']> = {}): Session {
  return {
    kind: 'user',
    issuer,
    sub: who,
    userId: who,
    clientId: 'app',
    scope: [],
    claims: { iat: 1_000, ...options },
  } as unknown as Session
}

describe('redisRevocations()', async () => {
  const redis = await startRedis()
  after(() => redis.stop())

  it('revokes a token, a subject’s tokens or a client’s, in every process', async () => {
    const [here, there] = [follower(redis.port), follower(redis.port)]
    await Promise.all([here.ready(), there.ready()])
    const ask = await asking(there)
    const tokens = {
      one: dev.token('ada', { claims: { jti: 'j-1' } }),
      two: dev.token('ada', { claims: { jti: 'j-2' } }),
      eve: dev.token('eve', { clientId: 'bad-app' }),
      robot: dev.token('robot', { kind: 'client' }),
    }
    const statuses = async () => Promise.all(Object.values(tokens).map(async (token) => (await ask(token)).status))
    assert.deepEqual(await statuses(), [200, 200, 200, 200])
    await here.revokeToken(issuer, 'j-1')
    await until(async () => (await ask(tokens.one)).status, 401)
    assert.deepEqual(await statuses(), [401, 200, 200, 200])
    await here.revokeClient(issuer, 'bad-app')
    await until(async () => (await ask(tokens.eve)).status, 401)
    assert.deepEqual(await statuses(), [401, 200, 401, 200])
    await here.revokeSubject(issuer, 'ada')
    await until(async () => (await ask(tokens.two)).status, 401)
    assert.deepEqual(await statuses(), [401, 401, 401, 200])
    await here.revokeSubject('https://other.test', 'robot')
    await here.revokeToken(issuer, 'after that')
    await until(() => there.state(session('x', { jti: 'after that' })), 'revoked')
    assert.equal((await ask(tokens.robot)).status, 200)
  })

  it('revokes a user by the preset’s user id or by sub, and the tokens of one login', async () => {
    const revocation = follower(redis.port)
    await revocation.ready()
    const server = okta({ domain: 'acme.test', more: { key: dev.options.key } })
    const name = server.issuer as string
    const { statusOf } = await apiOf({ ...server, revocation })
    const token = (sub: string, uid: string, sid?: string) =>
      dev.token(sub, { claims: { iss: name, aud: 'api://default', cid: 'app', uid, sid } })
    const statuses = (tokens: string[]) => Promise.all(tokens.map(statusOf))
    const tokens = [token('ada@acme', '00u1'), token('eve@acme', '00u2'), token('joe@acme', '00u3', 's-1')]
    const other = token('joe@acme', '00u3', 's-2')
    await revocation.revokeSubject(name, '00u1')
    await revocation.revokeSubject(name, 'eve@acme')
    assert.deepEqual(await statuses([...tokens, other]), [401, 401, 200, 200])
    await revocation.revokeSession(name, 's-1')
    await revocation.revokeSession('https://other.test', 's-2')
    assert.deepEqual(await statuses([...tokens, other]), [401, 401, 401, 200])
  })

  it('revokes by every name of the issuer, by what names a login there, and tells what', async () => {
    const here = follower(redis.port)
    await here.ready()
    const more = { key: dev.options.key }
    const project = 'abcdefghijklmnopqrst'
    const pool = cognito({ userPoolId: 'eu-west-1_Ab', clients: ['web'], more })
    const slash = auth0({ domain: 'acme.test', audience: 'api', more })
    const base = supabase({ project, more })
    const [idp, other] = pool.issuer as readonly [string, string]
    const ofPool = { iss: idp, token_use: 'access', client_id: 'web', aud: undefined }
    const ofSlash = { iss: 'https://acme.test/', aud: 'api', azp: 'web', client_id: undefined }
    const ofBase = { iss: base.issuer as string, aud: 'authenticated', role: 'authenticated', amr: [] }
    const rows = [
      [pool, { ...ofPool, jti: 'j1' }, () => here.revokeToken(other, 'j1')],
      [pool, { ...ofPool, iss: other, jti: 'j2' }, () => here.revokeToken(`${idp}/`, 'j2')],
      [pool, { ...ofPool, origin_jti: 'o1' }, () => here.revokeSession(other, 'o1')],
      [base, { ...ofBase, session_id: 's1' }, () => here.revokeSession(base.issuer as string, 's1')],
      [slash, { ...ofSlash, jti: 'j3' }, () => here.revokeToken('https://acme.test', 'j3')],
      [slash, { ...ofSlash, jti: 4711 }, () => here.revokeToken('https://acme.test', '4711')],
      [slash, { ...ofSlash, sid: 12 }, () => here.revokeSession('https://acme.test', '12')],
      [slash, ofSlash, () => here.revokeSession('https://acme.test', 'gone', { sub: 'ada', clientId: 'web' })],
    ] as const
    for (const [server, claims, revoke] of rows) {
      const { statusOf } = await apiOf({ ...server, revocation: here })
      const elsewhere = [
        { ...claims, jti: 'x', origin_jti: 'x', session_id: 'x', sid: 'x', sub: 'eve' },
        { ...claims, sid: 'x', azp: 'tv' },
      ]
      const tokens = [claims, ...elsewhere.slice(0, server === slash ? 2 : 1)].map((one) =>
        dev.token('ada', { claims: one }),
      )
      assert.deepEqual(
        await Promise.all(tokens.map(statusOf)),
        tokens.map(() => 200),
      )
      const { id, issuer: named, untilSec } = await revoke()
      assert.ok(id && named && untilSec > Date.now() / 1_000)
      assert.deepEqual(
        (await Promise.all(tokens.map(statusOf))).slice(0, 2),
        [401, 200],
        `revoked, another's: ${JSON.stringify({ id, issuer: named, claims })}`,
      )
    }
    for (const nobody of [undefined, '', 7] as never[]) {
      await assert.rejects(here.revokeToken(issuer, nobody), {
        name: 'TypeError',
        message: /^id must be a text; received/,
      })
    }
    await assert.rejects(
      here.revokeSubject('https://login.test/{tid}', 'ada'),
      /^TypeError: issuer must name one tenant/,
    )
  })

  it('keeps a revocation until the token has ended, and warns of tokens that live longer', async () => {
    const clock = manualClock()
    const said = warned({ after }, 'TOLLGATE_REVOCATIONS')
    const here = follower(1, { clock, tokenLifetimeSec: 60, onOutage: 'open', maxOutageMs: 500 })
    const nowSec = Math.floor(clock.date() / 1_000)
    await here.revokeToken(issuer, 'long', nowSec + 3_600).catch(() => undefined)
    const state = (jti: string) => here.state(session('ada', { jti, iat: nowSec, exp: nowSec + 3_600 }))
    clock.advance(3_600_000)
    assert.equal(state('long'), 'revoked')
    await until(() => said.some((message) => message.includes('tokenLifetimeSec: 3600')))
  })

  it('accepts tokens issued after the moment', async () => {
    const here = follower(redis.port)
    await here.ready()
    const now = Math.floor(Date.now() / 1_000)
    await here.revokeSubject(issuer, 'grace', now - 60)
    const ask = await asking(here)
    const at = async (iat: unknown) => (await ask(dev.token('grace', { claims: { iat } }))).status
    assert.deepEqual(
      [await at(now - 61), await at(now - 60), await at(now - 59), await at(undefined)],
      [401, 401, 200, 401],
    )
    assert.deepEqual(
      [await at(now - 60.5), await at(now - 60 + 0.9), await at(now - 59 + 0.1)], // moments are whole seconds
      [401, 401, 200],
    )
  })

  it('puts nothing of the subject into Redis, and lets every key expire', async () => {
    const own = await startRedis()
    after(() => own.stop())
    const here = follower(own.port, { prefix: 'api:' })
    await here.ready()
    await here.revokeSubject(issuer, 'ada:{x}\r\n')
    const { Redis } = await import('ioredis')
    const client = new Redis(own.port)
    const keys = (await client.keys('*')).sort()
    assert.deepEqual(keys, ['api:{revoked}:last', 'api:{revoked}:log', 'api:{revoked}:over'])
    for (const key of keys) assertIs(await client.pttl(key), above(86_000_000))
    const [entry = ''] = await client.zrange('api:{revoked}:log', '0', '-1')
    assert.match(entry, /^s:[A-Za-z0-9+/=]{44}:\d+:\d+$/)
    client.disconnect()
  })
})

describe('redisRevocations(), turn by turn', async () => {
  const server = await startRedis()
  const { Redis } = await import('ioredis')
  const client = new Redis(server.port)
  const monitor = await client.monitor()
  after(async () => {
    monitor.disconnect()
    client.disconnect()
    await server.stop()
  })

  /** A follower whose turns are taken one by one, with what each asks of Redis. */
  async function stepping(prefix: string, options: RedisRevocationsOptions = {}) {
    const time = manualClock(1_800_000_000_000)
    let armed = 0
    const clock = {
      ...time,
      after(ms: number, fn: () => void) {
        armed++
        return time.after(ms, fn)
      },
    }
    const log = `${prefix}:{revoked}:log`
    let asked: string[] = []
    let written: string[][] = []
    monitor.on('monitor', (_at: string, [command = '', ...args]: string[], source: string) => {
      if (source === 'lua' && /^zrangebyscore$/i.test(command) && args[0] === log)
        asked.push((args[1] as string).replace(/\d{13}(?=\d{3}$)/, '').replace(/\b0+/, ''))
      if (/^evalsha$/i.test(command) && args[1] === '3' && args[2] === log) {
        written.push(args.slice(6).filter((_, i) => i % 2 === 1))
      }
    })
    const here = follower(server.port, { prefix: `${prefix}:`, clock, tokenLifetimeSec: 60, ...options })
    const turn = async (ms = 100) => {
      const before = armed
      clock.advance(ms)
      await until(() => armed, above(before))
    }
    await until(() => armed, above(0))
    let ready = false
    void here.ready().then(() => void (ready = true))
    while (!ready) await turn()
    /** What was asked and written since the last time: all that came before is known once an own command is. */
    const seen = async () => {
      const mark = `mark-${Math.random()}`
      const marked = new Promise<void>((resolve) => {
        const listener = (_at: string, args: string[]) => {
          if (args[1] !== mark) return
          monitor.off('monitor', listener)
          resolve()
        }
        monitor.on('monitor', listener)
      })
      await Promise.all([marked, client.echo(mark)])
      const now = { asked, written }
      asked = []
      written = []
      return now
    }
    await seen()
    return { here, turn, seen, clock, time, log, armed: () => armed }
  }

  const token = (id: string) => entryOf({ kind: 'token', issuer, id, overMs: 1_800_000_360_000 })

  it('reads only new entries, and writes only entries that Redis has lost', async () => {
    const { here, turn, seen, clock, log } = await stepping('a')
    clock.setDate(1_800_000_000_000)
    const [one, two, three] = [token('1'), token('2'), token('3')]
    await here.revokeToken(issuer, '1')
    await here.revokeToken(issuer, '2')
    assert.deepEqual(await seen(), { asked: [], written: [[one], [two]] })
    await turn()
    await turn()
    await turn()
    assert.deepEqual(await seen(), { asked: ['-inf', '(2', '(2'], written: [] })
    await client.zadd(log, 1_800_000_000_000_003, three)
    await turn()
    await turn()
    assert.deepEqual(await seen(), { asked: ['(2', '(3'], written: [] })
    assert.equal(here.state(session('x', { jti: '3' })), 'revoked')
    // The server forgets: first the last, which is noticed by its absence, then all.
    await client.zrem(log, three)
    await turn()
    await turn()
    assert.deepEqual(await seen(), { asked: ['-inf', '(2'], written: [[three]] })
    await client.flushall()
    await turn()
    await turn()
    await turn()
    assert.deepEqual(await seen(), { asked: ['-inf', '-inf', '(3'], written: [[one, two, three]] })
    // Another that starts now has nothing to add.
    const late = await stepping('a')
    await late.turn()
    assert.deepEqual(await late.seen(), { asked: ['(3'], written: [] })
    assert.equal(late.here.state(session('x', { jti: '1' })), 'revoked')
  })

  it('tries again to write what it could not, and only that', async () => {
    const { here, turn, seen } = await stepping('b')
    await here.revokeToken(issuer, '1')
    await turn()
    await client.config('SET', 'maxmemory', '1')
    await assert.rejects(here.revokeToken(issuer, '2'), /OOM/)
    await client.config('SET', 'maxmemory', '0')
    await seen()
    await turn()
    await turn()
    const { written } = await seen()
    assert.deepEqual(
      written.map((entries) => entries.length),
      [1],
    )
    const late = await stepping('b')
    assert.equal(late.here.state(session('x', { jti: '2' })), 'revoked')
  })

  it('keeps a revocation for as long as a token may live, and the largest tolerance', async () => {
    const { here, clock, log } = await stepping('c')
    clock.setDate(1_800_000_000_000)
    await here.revokeSubject(issuer, 'ada')
    await here.revokeSubject(issuer, 'ada', 1_799_999_950)
    const entries = await client.zrange(log, '0', '-1')
    assert.deepEqual(
      entries.map((entry) => entry.split(':').slice(2)),
      [
        ['1800000000', '1800000360000'],
        ['1799999950', '1800000310000'],
      ],
    )
  })

  it('removes ended revocations once a minute', async () => {
    const { here, turn, time } = await stepping('d')
    await here.revokeToken(issuer, '1')
    const revoked = () => here.state(session('x', { jti: '1' })) === 'revoked'
    time.setDate(1_800_000_000_000 + 400_000) // it looked at the very beginning, and all was well
    while (time.now() < 59_900) await turn(Math.min(10_000, 59_900 - time.now()))
    assert.equal(revoked(), true)
    while (time.now() < 60_300) await turn()
    assert.equal(revoked(), false)
    await client.flushall()
  })

  it('is behind after too long without a read, and gives the cause', async () => {
    const { here, turn, clock } = await stepping('e', { maxOutageMs: 500 })
    await turn()
    server.signal('SIGSTOP')
    try {
      clock.advance(500)
      assert.equal(here.state(session('ada')), 'valid')
      clock.advance(1)
      const asked = [here.state(session('ada')), here.state(session('eve'))].map(Promise.resolve.bind(Promise))
      await until(() => {
        clock.advance(100)
        return !(here.state(session('ada')) instanceof Promise)
      })
      for (const state of [...(await Promise.all(asked)), here.state(session('ada'))]) {
        assert.ok((state as { unavailable: unknown }).unavailable instanceof Error)
      }
    } finally {
      server.signal('SIGCONT')
    }
    await until(async () => {
      await turn()
      return here.state(session('ada')) === 'valid'
    })
  })

  it('with onOutage: ’open’, warns once each time that it falls behind', async () => {
    const { here, turn, clock } = await stepping('f', { maxOutageMs: 500, onOutage: 'open' })
    const said = warned({ after }, 'TOLLGATE_REVOCATIONS')
    const behind = async () => {
      await turn()
      server.signal('SIGSTOP')
      clock.advance(501)
      const asked = here.state(session('ada'))
      await until(() => {
        clock.advance(100)
        return here.state(session('ada')) === 'valid' // given up
      })
      assert.equal(await asked, 'valid')
      server.signal('SIGCONT')
      await until(async () => {
        await turn()
        return Promise.resolve(here.state(session('ada'))).then((state) => state === 'valid')
      })
    }
    await behind()
    await behind()
    await setImmediate()
    assert.equal(said.filter((message) => message.includes('revocations cannot be read')).length, 2)
  })

  it('is ready as soon as Redis was read, and asks nothing once closed', async () => {
    const time = manualClock()
    const fresh = follower(server.port, { prefix: 'g:', clock: time })
    assert.ok(fresh.state(session('ada')) instanceof Promise) // it waits for the first read
    let ready = false
    void fresh.ready().then(() => void (ready = true))
    await until(async () => {
      if (fresh.state(session('ada')) === 'valid') return true
      time.advance(100)
      return new Promise((resolve) => setTimeout(() => resolve(false), 5))
    })
    await until(() => ready)

    const { here, turn, armed, clock } = await stepping('h')
    await turn()
    server.signal('SIGSTOP')
    clock.advance(100) // a turn is under way
    const before = armed()
    void here.close()
    void here.close()
    server.signal('SIGCONT')
    await client.ping()
    clock.advance(1_000)
    await client.ping()
    assert.equal(armed(), before)
    await here.ready()
  })
})

describe('redisRevocations() when Redis fails', () => {
  it('notices a history that went back and grew again, as after a failover that lost writes', async () => {
    const redis = await startRedis()
    after(() => redis.stop())
    const { Redis } = await import('ioredis')
    const client = new Redis(redis.port)
    const [here, there] = [follower(redis.port), follower(redis.port)]
    await Promise.all([here.ready(), there.ready()])
    for (let i = 0; i < 5; i++) await here.revokeToken(issuer, `kept-${i}`)
    await until(() => there.state(session('x', { jti: 'kept-4' })), 'revoked')
    // The last three writes are lost, and others take their numbers before anybody asks again.
    const entry = (id: string) => entryOf({ kind: 'token', issuer, id, overMs: Date.now() + 86_400_000 })
    const log = 'tollgate:{revoked}:log'
    const pipeline = client.multi().zremrangebyscore(log, 3, '+inf')
    for (let n = 3; n < 9; n++) pipeline.zadd(log, n, entry(`new-${n}`))
    await pipeline.set('tollgate:{revoked}:last', '8').exec()
    for (let n = 3; n < 9; n++) await until(() => there.state(session('x', { jti: `new-${n}` })), 'revoked')
    const late = follower(redis.port)
    for (let i = 0; i < 5; i++) await until(() => late.state(session('x', { jti: `kept-${i}` })), 'revoked')
    client.disconnect()
  })

  it('counts a revocation here at once, and does not wait for a Redis that hangs', async () => {
    const redis = await startRedis()
    after(() => redis.stop())
    const [here, late] = [follower(redis.port), follower(redis.port)]
    await Promise.all([here.ready(), late.ready()])
    redis.signal('SIGSTOP')
    const revoking = here.revokeToken(issuer, 'hanging')
    assert.equal(here.state(session('x', { jti: 'hanging' })), 'revoked')
    await assert.rejects(revoking, /does not answer in 1000 ms$/)
    redis.signal('SIGCONT')
    await until(() => late.state(session('x', { jti: 'hanging' })), 'revoked')
  })

  it('says once which keys it may not write, and which right is missing, or that the server takes no writes', async () => {
    const said = warned({ after }, 'TOLLGATE_REVOCATIONS')
    const reads = ['ACL', 'SETUSER', 'reader', 'on', '>pw', '~*', '+@read', '+@connection', '+evalsha', '+eval']
    for (const [command, user, why, warning] of [
      [reads, 'reader:pw@', /denies its user a right/, /allow the user ~tollgate:\* .*\+zadd .*\+incr/],
      [['REPLICAOF', '127.0.0.1', String(await freePort())], '', /./, /read.?only/i],
    ] as const) {
      const redis = await startRedis()
      after(() => redis.stop())
      await redis.command(...command)
      const here = redisRevocations(`redis://${user}127.0.0.1:${redis.port}`, { maxOutageMs: 3_600_000 })
      after(() => here.close())
      await here.ready()
      for (let i = 0; i < 3; i++) await assert.rejects(here.revokeToken(issuer, `j-${i}`), why)
      assert.equal(here.state(session('ada', { jti: 'j-0' })), 'revoked') // here it counts
      await until(() => said.length, above(0))
      const [message = '', ...others] = said.splice(0)
      assert.deepEqual(others, [])
      assert.match(message, /^revocations cannot be written to tollgate:\{revoked\}:log, .* in Redis at 127\.0\.0\.1/)
      assert.match(message, warning)
    }
  })
})

describe('redisRevocations()', () => {
  it('rejects a moment that is none', async () => {
    const here = follower(1)
    for (const beforeSec of [-1, NaN, Infinity, 1e12, 'yesterday' as never]) {
      const message = /^beforeSec is no time; received /
      await assert.rejects(here.revokeSubject(issuer, 'ada', beforeSec), { name: 'RangeError', message })
      await assert.rejects(here.revokeClient(issuer, 'app', beforeSec), { name: 'RangeError', message })
    }
    assert.equal(here.state({ ...session('ada'), claims: {} }) === 'revoked', false)
    for (const beforeSec of [0, 1e12 - 1]) {
      await assert.rejects(here.revokeSubject(issuer, 'ada', beforeSec), (err: Error) => err.name !== 'RangeError')
    }
  })
})

describe('RevocationList', () => {
  it('removes ended revocations, and no others', () => {
    const list = new RevocationList()
    const left = (nowMs: number) => {
      list.forget(nowMs)
      return list.entries().map(({ overMs }) => overMs)
    }
    list.add(entryOf({ kind: 'token', issuer, id: 'j', overMs: 1_000 }))
    list.add(entryOf({ kind: 'subject', issuer, id: 'ada', beforeSec: 10, overMs: 2_000 }))
    list.add(entryOf({ kind: 'subject', issuer, id: 'ada', beforeSec: 20, overMs: 3_000 }))
    list.add(entryOf({ kind: 'client', issuer, id: 'desk', beforeSec: 500, overMs: 4_000 }))
    const token = session('x', { jti: 'j' })
    const user = (iat: number) => session('ada', { iat })
    assert.deepEqual(left(999), [1_000, 2_000, 3_000, 4_000])
    assert.deepEqual(
      [token, user(20), user(21)].map((one) => list.revokes(one)),
      [true, true, false],
    )
    assert.deepEqual([left(1_000), list.revokes(token)], [[2_000, 3_000, 4_000], false])
    assert.deepEqual([left(2_000), list.revokes(user(20))], [[3_000, 4_000], true])
    assert.deepEqual([left(3_000), list.revokes(user(20))], [[4_000], false])
    assert.equal(list.revokes({ ...user(400), clientId: 'desk' }), true)
    assert.deepEqual(left(4_000), [])
  })

  it('ignores an earlier moment or an earlier end of the same revocation', () => {
    const list = new RevocationList()
    for (const [beforeSec, overMs] of [
      [20, 9e9],
      [10, 8e9],
    ] as const) {
      list.add(entryOf({ kind: 'client', issuer, id: 'app', beforeSec, overMs }))
      list.add(entryOf({ kind: 'token', issuer, id: 'j', overMs }))
    }
    list.forget(8.5e9)
    assert.equal(list.revokes(session('ada', { iat: 15 })), true)
    assert.equal(list.revokes(session('ada', { iat: 5_000, jti: 'j' })), true)
  })

  it('revokes no token because a claim is absent', () => {
    const list = new RevocationList()
    for (const kind of ['token', 'login'] as const) {
      list.add(entryOf({ kind, issuer, id: 'undefined', overMs: 9e9 }))
    }
    for (const id of ['undefined', '']) {
      list.add(entryOf({ kind: 'client', issuer, id, beforeSec: 5_000, overMs: 9e9 }))
    }
    assert.equal(list.revokes({ ...session('ada'), clientId: '' }), false)
  })

  it('ignores entries that are no revocations', () => {
    const list = new RevocationList()
    const good = entryOf({ kind: 'token', issuer, id: 'j', overMs: 1 })
    for (const entry of [
      '',
      'x',
      't:abc:0:1',
      good.replace('t', 'u'),
      good.replace(':0:', ':-1:'),
      ` ${good}`,
      `${good} `,
    ])
      assert.ok(!list.add(entry), entry)
    assert.deepEqual(list.entries(), [])
    assert.ok(list.add(good))
  })
})
