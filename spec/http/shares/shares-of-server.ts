import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import express, { type Request } from 'express'
import { Redis } from 'ioredis'
import { requireBearer } from '../../../lib'
import { newId } from '../../../lib/http/secret'
import { clientDirectory, memoryOAuthStore, redisOAuthStore } from '../../../lib/oauth'
import { StrangerDocuments } from '../../../lib/oauth/clients/stranger-documents'
import { Keyring } from '../../../lib/oauth/keys/keyring'
import { Grants } from '../../../lib/oauth/records/grants'
import { ofStranger } from '../../../lib/oauth/records/owners'
import { Records } from '../../../lib/oauth/records/records'
import { RevocationRecords } from '../../../lib/oauth/records/revocation-records'
import { limitStrangers } from '../../../lib/oauth/records/strangers'
import { LogoutNotices } from '../../../lib/oauth/tokens/logout-notices'
import { manualClock } from '../../../lib/testing'
import { SIGNING_KEY } from '../../oauth/support'
import { seenProofs } from '../../redis/seen-proofs'
import { answering } from '../../support/answering'
import { warned } from '../../support/heard'
import { redisOfTest } from '../../support/redis'
import { serve } from '../../support/serve'
import { until } from '../../support/until'
import { ADA, EVE, type Shares } from './shares'

const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000]
/** An address of its own for each number, all of one block. */
const ofOneBlock = (i: number) => `198.51.${i >> 8}.${i & 255}`

/** An empty Redis, with a client, until the test ends. */
async function emptyRedis(t: TestContext): Promise<{ readonly url: string; readonly redis: Redis }> {
  const server = await redisOfTest(t)
  const redis = new Redis(server.port)
  t.after(() => redis.disconnect())
  return { url: server.url, redis }
}

export const SHARES_OF_SERVER: Shares = {
  'registrations and pushed requests of strangers, interactions, sessions without a user': [
    async (t) => {
      const { url, redis } = await emptyRedis(t)
      const store = redisOAuthStore(url)
      t.after(() => store.close())
      await answering(store)
      const records = new Records(store)
      const limits = { name: 'pushed', perAddress: 30, inAll: 600, refusal: 'Too many.' }
      const push = async (ip: string) => {
        const asked = limitStrangers(records, { ip, headers: {} } as Request, limits)
        const isLetIn = await asked.then(
          () => true,
          () => false,
        )
        if (isLetIn) await records.set('pushed', newId(), {}, 1_000, ofStranger())
        return isLetIn
      }
      const all = await Promise.all(Array.from({ length: 1_500 }, (_, i) => push(ofOneBlock(i))))
      assert.equal(all.filter(Boolean).length, 150)
      assert.equal(await push(ADA), true)
      const counters = 150 + 1 + 2 + 1 // of addresses, of blocks and of all
      await until(() => redis.dbsize(), counters)
      assert.match(await redis.info('keyspace'), new RegExp(`keys=${counters},expires=${counters},`))
    },
  ],
  'used DPoP proofs': [
    async (t) => {
      const { url, redis } = await emptyRedis(t)
      const proofs = seenProofs(url)
      t.after(() => proofs.close())
      let tries = 0
      await until(() => proofs.note(`first ${tries++}`, -29, 0, 'first').catch(() => undefined), 'new')
      let taken = 0
      for (let i = 0; i < 200_000; i += 1_000) {
        const use = (_: unknown, j: number) => proofs.note(`eve ${i + j}`, -29, 0, 'eve') // is kept for a second
        taken += (await Promise.all(Array.from({ length: 1_000 }, use))).filter((use) => use === 'new').length
      }
      assert.equal(taken, 20_000)
      assert.deepEqual([await proofs.note('a', 60, 0, 'ada'), await proofs.note('a', 60, 0, 'ada')], ['new', 'replay'])
      await until(() => redis.dbsize(), 1)
      assert.equal(await proofs.note('eve', 120, 60, 'eve'), 'new', 'a minute later')
    },
  ],
  'metadata documents of apps': [
    async () => {
      const clock = manualClock()
      const fetched: string[] = []
      const fetch = (url: string) => {
        fetched.push(url)
        return Promise.resolve({ status: 200, headers: { get: () => 'max-age=86400' }, body: [Buffer.from('{}')] })
      }
      const documents = new StrangerDocuments(fetch, new Records(memoryOAuthStore({ clock })), clock)
      const find = async (url: string, ip: string) => {
        fetched.length = 0
        await documents.find('app', url, { ip, headers: {} } as Request, () => ({}))
        return fetched.length
      }
      await find('https://ada.test/app', ADA)
      for (let i = 0; i < 10_000; i++) {
        if (i % 100 === 0) clock.advance(60_000) // of a block 150 are fetched a minute
        await find(`https://eve.test/${i}`, ofOneBlock(i % 5_000))
      }
      clock.advance(60_000)
      const seen = ['https://ada.test/app', 'https://eve.test/9999', 'https://eve.test/9001', 'https://eve.test/9000']
      const again: number[] = []
      for (const url of seen) again.push(await find(url, ADA))
      assert.deepEqual(again, [0, 0, 0, 1], "ada's is kept, and 999 of the others'")
    },
  ],
  'answers of introspection': [
    async () => {
      const asked = new Map<string, number>()
      const endpoint = await serve((req, res) => {
        let body = ''
        req.on('data', (chunk: Buffer) => (body += chunk.toString()))
        req.on('end', () => {
          const token = new URLSearchParams(body).get('token') ?? ''
          asked.set(token, (asked.get(token) ?? 0) + 1)
          res.end(JSON.stringify({ active: true, sub: token, aud: 'api' }))
        })
      })
      const introspection = { endpoint: endpoint.url, clientAuth: 'none', cacheBytes: 10_000, cacheSec: 300 } as const
      const app = express().set('trust proxy', 1)
      const options = { issuer: 'https://as.test', audience: 'api', introspection, warnings: false }
      app.use(requireBearer(options), (_req, res) => void res.end())
      const api = await serve(app)
      const ask = async (token: string, ip: string) =>
        (await api.get('/', { authorization: `Bearer ${token}`, 'x-forwarded-for': ip })).status
      assert.equal(await ask('ada', ADA), 200)
      for (let i = 0; i < 300; i++) assert.equal(await ask(`eve-${i}`, EVE), 200)
      assert.deepEqual([await ask('ada', ADA), await ask('eve-299', EVE), await ask('eve-0', EVE)], [200, 200, 200])
      assert.deepEqual(
        ['ada', 'eve-299', 'eve-0'].map((token) => asked.get(token)),
        [1, 1, 2],
      )
    },
  ],
  'sign-out notices': [
    async (t) => {
      const [clock, most] = [manualClock(), 100]
      const told: string[] = []
      const held: (() => void)[] = []
      const { url } = await serve((req, res) => {
        told.push(req.url ?? '')
        if (req.url === '/eve' && held.length < 4) held.push(() => res.end())
        else res.end()
      })
      const realm = { redirectUris: ['https://a.test/'], realm: '/a' }
      const apps = ['eve', 'ada'].map((clientId) => ({
        clientId,
        name: clientId,
        ...realm,
        backchannelLogoutUri: `${url}/${clientId}`,
      }))
      const records = new Records(memoryOAuthStore({ clock }))
      const grants = new Grants(records, new RevocationRecords(records, clock, HOUR_MS, DAY_MS), clock, DAY_MS)
      const keyring = new Keyring([{ key: SIGNING_KEY }], clock, HOUR_MS)
      const notices = new LogoutNotices('https://as.test', clientDirectory(apps), grants, keyring, clock, most)
      const signOut = async (userId: string, clientId: string) => {
        await grants.use({ userId, clientId, grantId: userId, sid: userId })
        notices.send(userId, userId)
      }
      for (let i = 0; i < 10 * most; i++) await signOut(`user-${i}`, 'eve')
      await until(() => held.length, 4)
      await signOut('ada', 'ada')
      await until(() => told.includes('/ada'))
      const warnings = warned(t, 'TOLLGATE_LOGOUT')
      for (const end of held) end()
      await until(() => warnings.join(), /could not tell 'eve' of 896 sign-outs/)
      assert.equal(told.length, 4 + most + 1)
      await notices.close()
    },
  ],
}
