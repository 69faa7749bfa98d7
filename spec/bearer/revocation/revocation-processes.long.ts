import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sign } from 'jsonwebtoken'
import { Cluster, Redis } from 'ioredis'
import { redisRevocations, type RedisClient, type RedisRevocationsOptions } from '../../../lib/index'
import { startCluster } from '../../redis/cluster'
import { cutWire } from '../../support/cut-wire'
import { startRedis } from '../../support/redis'
import { startSentinelGroup } from '../../redis/sentinel'
import { until } from '../../support/until'
import type { Revoked } from '../processes/api'
import { type Child, startChild } from '../processes/child'

const issuer = 'https://as.test'
const audience = 'api'
const secret = 's'.repeat(32)
const KINDS = ['token', 'subject', 'client'] as const

function tokenOf({ kind, id }: Revoked): string {
  const claims = { iss: issuer, aud: audience, sub: 'ada', client_id: 'app', exp: 4_102_444_800, iat: 1 }
  const own = { token: { jti: id }, subject: { sub: id }, client: { client_id: id } }[kind]
  return sign({ ...claims, ...own }, secret)
}

const config = (redisPort: number, revocations: RedisRevocationsOptions = {}) => {
  return { redis: `redis://127.0.0.1:${redisPort}`, issuer, audience, secret, revocations }
}

/** Two processes that can both tell. */
async function two(
  owner: Parameters<typeof startChild>[0],
  ...configs: [ReturnType<typeof config>, ReturnType<typeof config>]
) {
  const [here, there] = (await Promise.all(configs.map((each) => startChild(owner, each)))) as [Child, Child]
  const good = tokenOf({ kind: 'token', id: 'good' })
  for (const each of [here, there]) await until(() => each.status(good), 200)
  return { here, there, good }
}

const one = (kind: Revoked['kind'], id: string): Revoked => ({ kind, id })

describe('redisRevocations() over two processes', () => {
  it('loses no revocation to a cut connection, even if the revoking process is gone', async (t) => {
    const redis = await startRedis()
    t.after(() => redis.stop())
    const wire = await cutWire(redis.port)
    t.after(() => wire.cut())
    const { here, there, good } = await two(t, config(redis.port), config(wire.port, { maxOutageMs: 4_000 }))
    await wire.cut()
    const missed = KINDS.map((kind) => one(kind, `missed-${kind}`))
    for (const each of missed) assert.ok(await here.revoke(each))
    await here.kill()
    // It cannot know yet, and says so once it has been behind for as long as is allowed.
    assert.equal(await there.status(tokenOf(missed[0] as Revoked)), 200)
    await until(() => there.status(good), 503)
    await wire.mend()
    await until(() => there.status(good), 200)
    for (const each of missed) assert.equal(await there.status(tokenOf(each)), 401, each.kind)
  })

  it('loses no revocation to a Redis that restarts empty while one process is cut off', async (t) => {
    const first = await startRedis()
    const wire = await cutWire(first.port)
    t.after(() => wire.cut())
    const { here, there, good } = await two(t, config(first.port), config(wire.port))
    await wire.cut()
    const missed = KINDS.map((kind) => one(kind, `missed-${kind}`))
    for (const each of missed) assert.ok(await here.revoke(each))
    await first.stop()
    const offline = one('token', 'offline')
    assert.equal(await here.revoke(offline), false)
    assert.equal(await here.status(tokenOf(offline)), 401)
    const again = await startRedis('--port', String(first.port))
    t.after(() => again.stop())
    await wire.mend()
    for (const each of [...missed, offline]) await until(() => there.status(tokenOf(each)), 401)
    assert.equal(await there.status(good), 200)
  })
})

describe('redisRevocations() over a Sentinel group and a Cluster', () => {
  const session = (id: string) => ({ issuer, claims: { jti: id }, sub: 'ada', clientId: 'app' }) as never
  const follower = (to: RedisClient) => {
    const revocation = redisRevocations(to)
    after(() => revocation.close())
    return revocation
  }

  it('loses no revocation to a failover that loses writes', async (t) => {
    const group = await startSentinelGroup()
    t.after(() => group.stop())
    const client = new Redis({ sentinels: [...group.sentinels], name: group.name, lazyConnect: true })
    const [here, there] = [follower(client), follower(client)]
    await Promise.all([here.ready(), there.ready()])
    await here.revokeToken(issuer, 'replicated')
    await group.cutReplication()
    await here.revokeToken(issuer, 'not-replicated')
    await until(() => there.state(session('not-replicated')), 'revoked')
    void here.close()
    await group.failover()
    const late = follower(client)
    await until(() => late.state(session('replicated')), 'revoked')
    await until(() => late.state(session('not-replicated')), 'revoked')
    await until(() =>
      there.revokeToken(issuer, 'after').then(
        () => true,
        () => false,
      ),
    )
    await until(() => late.state(session('after')), 'revoked')
  })

  it('shares revocations through a Cluster, also after a master was killed', async (t) => {
    const cluster = await startCluster()
    t.after(() => cluster.stop())
    const client = new Cluster([...cluster.nodes], { lazyConnect: true })
    const [here, there] = [follower(client), follower(client)]
    await Promise.all([here.ready(), there.ready()])
    await here.revokeToken(issuer, 'before')
    await until(() => there.state(session('before')), 'revoked')
    const master = await cluster.masterOf('tollgate:{revoked}:log')
    master.server.signal('SIGKILL')
    await until(() =>
      here.revokeToken(issuer, 'after').then(
        () => true,
        () => false,
      ),
    )
    await until(() => there.state(session('after')), 'revoked')
    const late = follower(client)
    for (const id of ['before', 'after']) await until(() => late.state(session(id)), 'revoked')
  })
})
