// The rights in docs/redis.md are enough for each store, and none is too many.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it, type TestContext } from 'node:test'
import type { Redis } from 'ioredis'
import { redisRevocations, redisStore } from '../../lib/index'
import { redisOAuthStore } from '../../lib/oauth/index'
import { redisWindows } from '../../lib/inspect/redis-windows'
import { seenProofs } from './seen-proofs'
import { redisOfSuite } from '../support/redis'
import { throttledApp } from '../support/throttled-app'
import { assertIs, above, until } from '../support/until'

const PAGE = readFileSync(join(process.cwd(), 'docs/redis.md'), 'utf8')
/** The one list of rights that the page gives to a user of all stores, and that of who only reads. */
const RIGHTS = (/const commands =([\s\S]+?)\nawait/.exec(PAGE)?.[1] ?? '').match(/\+\w+/g) ?? []
const READER = (/which only read\s*\| `([a-z ]+)`/.exec(PAGE)?.[1] ?? '').split(' ').map((command) => `+${command}`)

describe('A Redis user with exactly the rights of docs/redis.md', () => {
  const own = redisOfSuite()
  before(() => own.redis.select(1))

  async function user(name: string, rights: readonly string[]): Promise<string> {
    await own.redis.call('ACL', 'SETUSER', name, 'on', '>secret', '~tollgate:*', 'resetchannels', '-@all', ...rights)
    return `redis://${name}:secret@127.0.0.1:${own.server.port}/1`
  }

  /** What was refused to the user since the log was emptied. */
  async function refused(): Promise<string[]> {
    const log = (await own.redis.call('ACL', 'LOG')) as string[][]
    const objects = log.map((entry) => String(entry[entry.indexOf('object') + 1]))
    return objects.filter((object) => !object.startsWith('client')) // ioredis says its name where it may
  }

  async function called(): Promise<string[]> {
    return [...(await own.redis.info('commandstats')).matchAll(/cmdstat_(\w+):/g)].map((match) => `+${match[1]}`)
  }

  it('can do what every store does, and needs each of them', async (t) => {
    const warn = t.mock.method(console, 'warn', () => undefined)
    await own.redis.zadd('tollgate:{revoked}:over', '1', 'long-over') // is cleared away
    const url = await user('app', RIGHTS)
    await own.redis.call('ACL', 'LOG', 'RESET')
    await own.redis.config('RESETSTAT')

    await Promise.all([
      useThrottle(t, url, own.redis),
      useRevocations(t, url),
      useProofs(t, url),
      useOAuthStore(t, url),
    ])

    assert.deepEqual(await refused(), [])
    assert.equal(warn.mock.callCount(), 0, 'without INFO ioredis prints a line')
    const used = await called()
    assertIs(RIGHTS.length, above(15))
    assert.deepEqual(
      RIGHTS.filter((right) => !used.includes(right)),
      [],
    )
    for (const key of await own.redis.keys('*')) assert.ok(key.startsWith('tollgate:'), key)
  })

  it('can read what dashboard and top show by fewer rights', async (t) => {
    await useThrottle(t, await user('app', RIGHTS), own.redis)
    await own.redis.call('ACL', 'LOG', 'RESET')
    const windows = await redisWindows(await user('reader', [...READER, '+select']), 'tollgate:')
    t.after(() => windows.close())
    const { windows: found, processes } = await windows.read()
    assertIs(found.length, above(0))
    assert.equal(typeof processes, 'number')
    assert.deepEqual(await refused(), [])
    const fewer = READER.filter((right) => right !== '+zcount')
    const uncounted = await redisWindows(await user('uncounted', [...fewer, '+select']), 'tollgate:')
    t.after(() => uncounted.close())
    const read = await uncounted.read()
    assert.deepEqual([read.windows.length, read.processes], [found.length, undefined])
    assert.deepEqual(READER, ['+scan', '+hgetall', '+time', '+info', '+zcount'])
  })
})

async function useThrottle(t: TestContext, url: string, admin: Redis): Promise<void> {
  const { throttled, ask } = await throttledApp(t, { limitMs: 1_000, windowMs: 86_400_000, store: redisStore(url) })
  await ask('ada', 2_000)
  await ask('grace', 10) // close() adds what her window came to for advise()
  // Fields are counted once one has expired and nothing is left.
  const isCounted = async () => /cmdstat_hgetall/.test(await admin.info('commandstats'))
  await until(async () => (await throttled.usage('ada'))[0]?.degraded === false && (await isCounted()))
  await throttled.reset('ada')
  await until(async () => (await throttled.usage('ada'))[0]?.degraded, false)
  await throttled.close()
}

async function useRevocations(t: TestContext, url: string): Promise<void> {
  const revocations = redisRevocations(url)
  t.after(() => revocations.close())
  await revocations.ready()
  await revocations.revokeToken('https://as.test', 'one')
  await revocations.revokeSubject('https://as.test', 'ada')
  await revocations.revokeClient('https://as.test', 'app')
}

async function useProofs(t: TestContext, url: string): Promise<void> {
  const proofs = seenProofs(url)
  t.after(() => proofs.close())
  const note = async (name: string) => proofs.note(name, 60, 0)
  await until(() => note('first').catch(() => undefined))
  assert.equal(await note('first'), 'replay')
}

async function useOAuthStore(t: TestContext, url: string): Promise<void> {
  const store = redisOAuthStore(url)
  t.after(() => store.close())
  for (const keepMs of [0, 60_000]) {
    await store.set('code', 'value', 60_000)
    assert.equal((await store.claim('code', keepMs))?.first, true)
  }
  assert.equal(await store.get('code'), 'value')
  assert.equal(await store.get('code', 60_000), 'value')
  assert.equal((await store.count('tries', -1, 60_000)).total, 0)
  assert.equal((await store.count('tries', 2, 60_000)).total, 2)
}
