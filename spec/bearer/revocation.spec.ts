import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { after, describe, it } from 'node:test'
import express from 'express'
import {
  redisRevocations,
  requireBearer,
  type BearerOptions,
  type RedisRevocationsOptions,
  type Session,
} from '../../lib'
import { RevocationList, entryOf } from '../../lib/bearer/revocation/revocation-list'
import { devIssuer, manualClock, type DevTokenOptions } from '../../lib/testing'
import { startRedis } from '../support/redis'
import { serve } from '../support/serve'
import { until } from '../support/until'

const dev = devIssuer()
const { issuer } = dev

function follower(port: number, options: RedisRevocationsOptions = {}) {
  const revocation = redisRevocations(`redis://127.0.0.1:${port}`, options)
  after(() => revocation.close())
  return revocation
}

async function asking(revocation: NonNullable<BearerOptions['revocation']>) {
  const { url } = await serve(
    express().use(requireBearer({ ...dev.options, revocation }), (_req, res) => void res.end()),
  )
  return async (token: string) => fetch(url, { headers: { authorization: `Bearer ${token}` } })
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
    await until(async () => (await ask(tokens.one)).status === 401)
    assert.deepEqual(await statuses(), [401, 200, 200, 200])
    await here.revokeClient(issuer, 'bad-app')
    await until(async () => (await ask(tokens.eve)).status === 401)
    assert.deepEqual(await statuses(), [401, 200, 401, 200])
    await here.revokeSubject(issuer, 'ada')
    await until(async () => (await ask(tokens.two)).status === 401)
    assert.deepEqual(await statuses(), [401, 401, 401, 200])
    await here.revokeSubject('https://other.test', 'robot')
    await new Promise((resolve) => setTimeout(resolve, 250))
    assert.equal((await ask(tokens.robot)).status, 200)
  })

  it('takes tokens issued after the moment', async () => {
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
  })

  it('is effective everywhere within 250 ms (p99)', async () => {
    const [here, there] = [follower(redis.port), follower(redis.port)]
    await Promise.all([here.ready(), there.ready()])
    const lag = monitorEventLoopDelay({ resolution: 5 })
    lag.enable()
    const times: number[] = []
    for (let i = 0; i < 50; i++) {
      const started = performance.now()
      await here.revokeToken(issuer, `timed-${i}`)
      const one = session('x', { jti: `timed-${i}` })
      while (there.state(one) !== 'revoked') await new Promise((resolve) => setTimeout(resolve, 1))
      times.push(performance.now() - started)
    }
    lag.disable()
    times.sort((a, b) => a - b)
    const p99 = times[Math.ceil(times.length * 0.99) - 1] as number
    assert.ok(p99 <= 250 + lag.max / 1e6, `p99 ${p99} ms, with the event loop up to ${lag.max / 1e6} ms late`)
  })

  it('puts nothing of the subject into Redis, and lets every key expire', async () => {
    const own = await startRedis()
    after(() => own.stop())
    const here = follower(own.port, { prefix: 'api' })
    await here.ready()
    await here.revokeSubject(issuer, 'ada:{x}\r\n')
    const { Redis } = await import('ioredis')
    const client = new Redis(own.port)
    const keys = (await client.keys('*')).sort()
    assert.deepEqual(keys, ['{api:revoked}:last', '{api:revoked}:log', '{api:revoked}:over'])
    for (const key of keys) assert.ok((await client.pttl(key)) > 86_000_000)
    const [entry = ''] = await client.zrange('{api:revoked}:log', '0', '-1')
    assert.match(entry, /^s:[A-Za-z0-9+/=]{44}:\d+:\d+$/)
    client.disconnect()
  })
})

describe('redisRevocations() when Redis fails', () => {
  it('tells a Redis that restarts empty all that any process knows', async () => {
    const first = await startRedis()
    const [here, there] = [follower(first.port), follower(first.port)]
    await Promise.all([here.ready(), there.ready()])
    await here.revokeToken(issuer, 'before')
    await until(() => there.state(session('x', { jti: 'before' })) === 'revoked')
    here.close()
    await first.stop()
    const again = await startRedis('--port', String(first.port))
    after(() => again.stop())
    const late = follower(first.port)
    await late.ready()
    await until(() => late.state(session('x', { jti: 'before' })) === 'revoked')
    await there.revokeToken(issuer, 'after')
    await until(() => late.state(session('x', { jti: 'after' })) === 'revoked')
  })

  it('notices a history that went back and grew again, as after a failover that lost writes', async () => {
    const redis = await startRedis()
    after(() => redis.stop())
    const { Redis } = await import('ioredis')
    const client = new Redis(redis.port)
    const [here, there] = [follower(redis.port), follower(redis.port)]
    await Promise.all([here.ready(), there.ready()])
    for (let i = 0; i < 5; i++) await here.revokeToken(issuer, `kept-${i}`)
    await until(() => there.state(session('x', { jti: 'kept-4' })) === 'revoked')
    // The last three writes are lost, and others take their numbers before anybody asks again.
    const entry = (id: string) => entryOf({ kind: 'token', issuer, id, overMs: Date.now() + 86_400_000 })
    const log = '{tollgate:revoked}:log'
    const pipeline = client.multi().zremrangebyscore(log, 3, '+inf')
    for (let n = 3; n < 9; n++) pipeline.zadd(log, n, entry(`new-${n}`))
    await pipeline.set('{tollgate:revoked}:last', '8').exec()
    for (let n = 3; n < 9; n++) await until(() => there.state(session('x', { jti: `new-${n}` })) === 'revoked')
    const late = follower(redis.port)
    for (let i = 0; i < 5; i++) await until(() => late.state(session('x', { jti: `kept-${i}` })) === 'revoked')
    client.disconnect()
  })

  it('counts a revocation here at once, and writes it when Redis is back', async () => {
    const first = await startRedis()
    const here = follower(first.port)
    await here.ready()
    await first.stop()
    await assert.rejects(here.revokeToken(issuer, 'offline'))
    assert.equal(here.state(session('x', { jti: 'offline' })), 'revoked')
    const again = await startRedis('--port', String(first.port))
    after(() => again.stop())
    const late = follower(first.port)
    await until(() => late.state(session('x', { jti: 'offline' })) === 'revoked')
  })

  it('closed: refuses with 503 what it cannot tell, from the start and when behind for too long', async () => {
    const redis = await startRedis()
    after(() => redis.stop())
    const clock = manualClock()
    const starting = follower(redis.port, { clock })
    const ask = await asking(starting)
    assert.equal((await ask(dev.token('ada'))).status, 503)
    const step = async (condition: () => boolean) =>
      until(async () => {
        if (condition()) return true
        clock.advance(100)
        return new Promise((resolve) => setTimeout(() => resolve(false), 2))
      })
    await step(() => starting.state(session('ada')) === 'valid')
    assert.equal((await ask(dev.token('ada'))).status, 200)
    redis.signal('SIGSTOP')
    clock.advance(5_200)
    const answer = await ask(dev.token('ada'))
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1'])
    redis.signal('SIGCONT')
    await step(() => starting.state(session('ada')) === 'valid')
  })

  it('open: lets in by what is known, with a warning', async () => {
    const warnings: string[] = []
    const listener = (warning: Error) => void warnings.push(warning.message)
    process.on('warning', listener)
    const open = follower(1, { onBehind: 'open' })
    await open.revokeToken(issuer, 'known').catch(() => undefined)
    assert.equal(open.state(session('ada')), 'valid')
    assert.equal(open.state(session('ada', { jti: 'known' })), 'revoked')
    await until(() => warnings.some((message) => message.includes('revocations cannot be read')))
    process.off('warning', listener)
  })
})

describe('redisRevocations() throws at startup', () => {
  it('where it is given neither a client nor a URL, and never shows a URL', () => {
    assert.throws(() => redisRevocations({} as never), /redisRevocations\(\) takes an ioredis client .* received \{\}/)
    assert.throws(
      () => redisRevocations('http://user:s3cret@localhost'),
      (err) => err instanceof TypeError && !err.message.includes('s3cret'),
    )
  })

  it('and names the option', () => {
    for (const [options, message] of [
      [{ prefix: 'a{b' }, /prefix/],
      [{ tokenLifeSec: 1 }, /tokenLifeSec.*1/],
      [{ maxBehindMs: 1 }, /maxBehindMs/],
      [{ onBehind: 'local' }, /onBehind.*'local'/],
      [{ interval: 1 }, /no option "interval"/],
    ] as const) {
      assert.throws(() => redisRevocations('redis://127.0.0.1:1', options as object), message)
    }
    assert.throws(() => requireBearer({ ...dev.options, revocation: {} as never }), /revocation must be/)
  })
})

describe('RevocationList', () => {
  it('lets go of what is over, and of nothing else', () => {
    const list = new RevocationList()
    const token = entryOf({ kind: 'token', issuer, id: 'j', overMs: 1_000 })
    list.add(token)
    list.add(entryOf({ kind: 'subject', issuer, id: 'ada', beforeSec: 10, overMs: 2_000 }))
    list.add(entryOf({ kind: 'subject', issuer, id: 'ada', beforeSec: 20, overMs: 3_000 }))
    assert.equal(list.entries(999).length, 3)
    assert.deepEqual([list.entries(1_000).length, list.has(token)], [2, false])
    assert.equal(list.entries(2_000).length, 1)
    assert.equal(list.revokes(session('ada', { iat: 20 })), true)
    assert.equal(list.revokes(session('ada', { iat: 21 })), false)
    assert.equal(list.entries(3_000).length, 0)
    assert.equal(list.revokes(session('ada', { iat: 20 })), false)
  })

  it('never gets laxer by an earlier moment', () => {
    const list = new RevocationList()
    for (const beforeSec of [20, 10]) list.add(entryOf({ kind: 'client', issuer, id: 'app', beforeSec, overMs: 9e9 }))
    assert.equal(list.revokes(session('ada', { iat: 15 })), true)
  })

  it('takes nothing else for a revocation', () => {
    const list = new RevocationList()
    for (const entry of ['', 'x', 't:abc:0:1', `u:${'a'.repeat(44)}:0:1`, `t:${'a'.repeat(44)}:-1:1`])
      assert.ok(!list.add(entry))
    assert.equal(list.entries(0).length, 0)
  })
})
