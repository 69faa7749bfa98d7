import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { LocalProofs } from '../../../lib/bearer/dpop/seen-proofs'
import { issuerCalls } from '../../../lib/http/fetch/issuer-calls'
import { OwnedRecords } from '../../../lib/http/owners'
import { Places } from '../../../lib/http/places'
import { memoryOAuthStore } from '../../../lib/oauth'
import { Consents } from '../../../lib/oauth/records/consents'
import { Grants } from '../../../lib/oauth/records/grants'
import { ofUser } from '../../../lib/oauth/records/owners'
import { Records } from '../../../lib/oauth/records/records'
import { RevocationRecords } from '../../../lib/oauth/records/revocation-records'
import { WebsiteSessions } from '../../../lib/oauth/records/website-sessions'
import { manualClock } from '../../../lib/testing'
import { ADA, EVE, type Shares } from './shares'

/**
 * One owner asks for ten times as many tasks as run and wait. Another one's run at once or wait, and in the end there is
 * room for all.
 */
async function shared(places: Places, most: { readonly running: number; readonly waiting: number }): Promise<void> {
  const gates: (() => void)[] = []
  const ask = (owner: string) => places.run(owner, () => new Promise<boolean>((done) => gates.push(() => done(true))))
  const flood = Array.from({ length: 10 * (most.running + most.waiting) }, () => ask(EVE))
  assert.deepEqual([gates.length, places.waiting], [most.running / 2, most.waiting], 'half of the places stay free')
  const [served, queued] = [ask(ADA), Array.from({ length: most.running / 2 }, () => ask(ADA))]
  assert.equal(places.waiting, most.waiting, "those of the other one take the places of eve's that wait")
  while (gates.length > 0) {
    gates.shift()?.()
    await setImmediate()
  }
  assert.deepEqual(await Promise.all([served, ...queued]), Array(1 + queued.length).fill(true))
  assert.deepEqual([places.waiting, places.isBusyFor(EVE), places.isBusyFor(ADA)], [0, false, false])
  assert.ok((await Promise.all(flood)).filter(Boolean).length < most.running + most.waiting)
}

const [HOUR_MS, DAY_MS, MOST] = [3_600_000, 24 * 3_600_000, 100]

/** Records over a memory store that has room for a tenth of what the rows below ask for: more than that is an error. */
function recordsOf(maxBytes: number) {
  const clock = manualClock()
  const records = new Records(memoryOAuthStore({ clock, maxBytes }), '', MOST)
  return { clock, records, revocations: new RevocationRecords(records, clock, HOUR_MS, DAY_MS, MOST) }
}

/** Cases of what a process keeps or holds by itself, and of the records of the authorization server. */
export const SHARES_OF_MEMORY: Shares = {
  'password hashes, look-ups of names, fetches of metadata documents': [
    () =>
      shared(new Places({ places: 4, leavesRoom: true, mostWaiting: 8 }, manualClock()), { running: 4, waiting: 8 }),
  ],
  'calls to an issuer: introspection, keys, `check()`': [
    () => shared(issuerCalls(manualClock()), { running: 24, waiting: 256 }),
  ],
  'records of the authorization server, in memory': [
    () => {
      const records = new OwnedRecords<number>(100)
      records.set('ada', 1, ADA)
      for (let i = 0; i < 1_000; i++) records.set(`eve ${i}`, i, EVE)
      assert.deepEqual([records.get('ada'), records.of(EVE), records.get('eve 900')], [1, 99, undefined])
      for (let i = 0; i < 1_000; i++) records.delete(`eve ${i}`)
      assert.equal(records.of(EVE), 0)
    },
    async () => {
      const clock = manualClock()
      const store = memoryOAuthStore({ clock, maxBytes: 20_000 })
      const fill = async () => {
        for (let i = 0; i < 400; i++) await store.set(`eve:${i}`, 'x', 1_000, EVE)
      }
      await store.set('revoked', '1', 1_000)
      await store.set('ada', '1', 1_000, ADA)
      await fill()
      assert.deepEqual(
        [await store.get('ada'), await store.get('revoked'), await store.get('eve:0')],
        ['1', '1', undefined],
      )
      clock.advance(1_000)
      await store.set('large', 'x'.repeat(19_000), 1_000) // all that expired has made way
    },
  ],
  'used DPoP proofs': [
    () => {
      const proofs = new LocalProofs(1_000)
      const use = (owner: string, at: number) =>
        Array.from({ length: 100 }, (_, i) => proofs.note(`${owner} ${at} ${i}`, at + 60, at, owner)).filter(
          (use) => use === 'new',
        )
      assert.deepEqual(
        [use(EVE, 0).length, proofs.note('x', 60, 0, ADA), proofs.note('x', 60, 0, ADA)],
        [10, 'new', 'replay'],
      )
      assert.equal(use(EVE, 61).length, 10)
    },
  ],
  'grants, with their codes and refresh tokens': [
    async () => {
      const { clock, records, revocations } = recordsOf(100_000)
      const grants = new Grants(records, revocations, clock, HOUR_MS)
      const use = (grantId: string, userId: string) => grants.use({ userId, clientId: 'app', grantId, sid: 's' })
      await use('ada', 'ada')
      for (let i = 0; i < 320; i++) await use(`${i}`, 'eve')
      assert.deepEqual([(await grants.of('eve')).length, (await grants.of('ada')).length], [32, 1])
      assert.equal(await records.get('revoked', '99'), 1, 'of the first hundred, the access tokens ended')
    },
  ],
  revocations: [
    async () => {
      const { clock, revocations } = recordsOf(100_000)
      const isOver = (userId: string, sid: string) => revocations.isSessionOver({ sid, userId })
      await revocations.revokeSession('ada 0', 'ada')
      for (let i = 0; i < 10 * MOST; i++) await revocations.revokeSession(`eve ${i}`, 'eve')
      assert.deepEqual(
        await Promise.all([isOver('eve', 'eve 0'), isOver('eve', `eve ${10 * MOST - 1}`), isOver('ada', 'ada 0')]),
        [true, true, true],
      )
      assert.deepEqual([await isOver('ada', 'ada 1'), await isOver('eve', 'another')], [false, true])
      clock.advance(DAY_MS)
      await revocations.revokeSession('eve again', 'eve') // on record by itself once more
    },
    async () => {
      const { revocations } = recordsOf(200_000)
      const isRevoked = (sub: string, jti: string, grant_id: string, client_id = 'app') =>
        revocations.isRevoked({ jti, grant_id, sub, client_id, auth_time: 1 })
      for (let i = 0; i < 10 * MOST; i++) {
        await revocations.revokeToken({ jti: `t${i}`, exp: 3_600, sub: 'eve', client_id: 'app', auth_time: 1 })
        await revocations.revokeGrant({ grantId: `g${i}`, userId: 'eve', clientId: 'app' })
      }
      for (const [i, grant] of [0, 10 * MOST - 1].entries()) {
        assert.deepEqual(
          [await isRevoked('eve', `t${grant}`, '-'), await isRevoked('eve', '-', `g${grant}`)],
          [true, true],
          `${i}`,
        )
      }
      assert.deepEqual([await isRevoked('ada', 'a', 'b'), await isRevoked('eve', 'a', 'b', 'other')], [false, false])
    },
  ],
  'website sessions': [
    async () => {
      const { clock, records, revocations } = recordsOf(200_000)
      const grants = new Grants(records, revocations, clock, DAY_MS)
      const sessions = new WebsiteSessions(records, revocations, grants, clock, DAY_MS, HOUR_MS)
      const ada = await sessions.start({ userId: 'ada' }, undefined)
      const eve: string[] = []
      for (let i = 0; i < 320; i++) eve.push((await sessions.start({ userId: 'eve' }, undefined)).cookie)
      const live = await Promise.all(eve.map((cookie) => sessions.find(cookie)))
      assert.deepEqual([live.filter(Boolean).length, live.at(-33), !!live.at(-32)], [32, undefined, true])
      for (let i = 0; i < 40; i++) await sessions.end((await sessions.start({ userId: 'ada' }, undefined)).session)
      assert.ok(await sessions.find(ada.cookie), 'what ended makes room')
    },
  ],
  'used assertions and DPoP proofs at the authorization server': [
    async () => {
      const { clock, records } = recordsOf(100_000)
      const [eve, ada] = [ofUser('eve'), ofUser('ada')]
      let taken = 0
      for (let i = 0; i < 10 * MOST; i++) if (await records.isNew('proof', `${i}`, 1_000, eve)) taken++
      assert.equal(taken, MOST)
      assert.deepEqual(
        [await records.isNew('proof', 'a', 1_000, ada), await records.isNew('proof', 'a', 1_000, ada)],
        [true, false],
      )
      clock.advance(60_000)
      assert.equal(await records.isNew('proof', 'another', 1_000, eve), true)
    },
  ],
  'approvals of apps': [
    async () => {
      const clock = manualClock()
      const store = memoryOAuthStore({ clock, maxBytes: 300_000 }) // room for a fifth
      const records = new Records(store)
      const revocations = new RevocationRecords(records, clock, HOUR_MS, DAY_MS)
      const consents = new Consents(records, revocations, clock)
      const approve = (userId: string, clientId: string) =>
        consents.approve({ userId, clientId, name: clientId, scope: ['tree'], host: 'a.test' })
      await approve('ada', 'app')
      for (let i = 0; i < 2_000; i++) await approve('eve', `app-${i}`)
      assert.deepEqual([(await consents.of('eve')).length, (await consents.of('ada')).length], [200, 1])
      clock.advance(366 * DAY_MS)
      await store.set('large', 'x'.repeat(299_000), 1_000) // all that expired has made way
    },
  ],
}
