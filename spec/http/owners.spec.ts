import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LocalProofs } from '../../lib/bearer/dpop/seen-proofs'
import { OwnedRecords } from '../../lib/http/owners'
import { Places } from '../../lib/http/places'
import { urlOf } from '../../lib/http/url'
import { memoryOAuthStore } from '../../lib/oauth'
import { Grants } from '../../lib/oauth/records/grants'
import { ofUser } from '../../lib/oauth/records/owners'
import { Records } from '../../lib/oauth/records/records'
import { RevocationRecords } from '../../lib/oauth/records/revocation-records'
import { WebsiteSessions } from '../../lib/oauth/records/website-sessions'
import { manualClock } from '../../lib/testing'

const [EVE, ADA] = ['198.51.100.7', '203.0.113.9']

/** What is scarce: one owner asks for ten times its bound, another is served, and then there is room as before. */
const SCARCE: Readonly<Record<string, () => Promise<void>>> = {
  'places for tasks': async () => {
    const places = new Places({ places: 4, leavesRoom: true, mostWaiting: 8 }, manualClock())
    const gates: (() => void)[] = []
    const ask = (owner: string) => places.run(owner, () => new Promise<boolean>((done) => gates.push(() => done(true))))
    const flood = Array.from({ length: 120 }, () => ask(EVE))
    assert.deepEqual([gates.length, places.waiting], [2, 8], 'half of the places stay free')
    const [served, queued] = [ask(ADA), ask(ADA)]
    assert.deepEqual([gates.length, places.waiting], [3, 8], 'one begins, and one takes the place of a waiting one')
    while (gates.length > 0) {
      gates.shift()?.()
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
    assert.deepEqual([await served, await queued, places.waiting], [true, true, 0])
    assert.equal((await Promise.all(flood)).filter(Boolean).length, 2 + 7)
  },
  'values in memory': () => {
    const records = new OwnedRecords<number>(100)
    records.set('ada', 1, ADA)
    for (let i = 0; i < 1_000; i++) records.set(`eve ${i}`, i, EVE)
    assert.deepEqual([records.get('ada'), records.of(EVE), records.get('eve 900')], [1, 99, undefined])
    for (let i = 0; i < 1_000; i++) records.delete(`eve ${i}`)
    return Promise.resolve(assert.equal(records.of(EVE), 0))
  },
  'used proofs': () => {
    const proofs = new LocalProofs(1_000)
    const use = (owner: string, at: number) =>
      Array.from({ length: 100 }, (_, i) => proofs.note(`${owner} ${at} ${i}`, at + 60, at, owner)).filter(
        (use) => use === 'new',
      )
    assert.deepEqual(
      [use(EVE, 0).length, proofs.note('x', 60, 0, ADA), proofs.note('x', 60, 0, ADA)],
      [10, 'new', 'replay'],
    )
    return Promise.resolve(assert.equal(use(EVE, 61).length, 10))
  },
  'records of the authorization server': async () => {
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
}

const [HOUR_MS, MOST] = [3_600_000, 100]

/** Records over a memory store that has room for a tenth of what the rows below ask for: more than that is an error. */
function recordsOf(maxBytes: number) {
  const clock = manualClock()
  const records = new Records(memoryOAuthStore({ clock, maxBytes }), '', MOST)
  return { clock, records, revocations: new RevocationRecords(records, clock, HOUR_MS, 24 * HOUR_MS, MOST) }
}

/** One user or app causes ten times the records that it may; another one's hold, and no revocation is forgotten. */
const RECORDS: Readonly<Record<string, () => Promise<void>>> = {
  'sign-outs of a user': async () => {
    const { clock, revocations } = recordsOf(100_000)
    const isOver = (userId: string, sid: string) => revocations.isSessionOver({ sid, userId })
    await revocations.revokeSession('ada 0', 'ada')
    for (let i = 0; i < 10 * MOST; i++) await revocations.revokeSession(`eve ${i}`, 'eve')
    assert.deepEqual(
      await Promise.all([isOver('eve', 'eve 0'), isOver('eve', `eve ${10 * MOST - 1}`), isOver('ada', 'ada 0')]),
      [true, true, true],
    )
    assert.deepEqual([await isOver('ada', 'ada 1'), await isOver('eve', 'another')], [false, true])
    clock.advance(24 * HOUR_MS)
    await revocations.revokeSession('eve again', 'eve') // on record by itself once more
  },
  'grants and tokens of a user that an app revokes': async () => {
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
  'sessions of a user': async () => {
    const { clock, records, revocations } = recordsOf(200_000)
    const grants = new Grants(records, revocations, clock, 24 * HOUR_MS)
    const sessions = new WebsiteSessions(records, revocations, grants, clock, 24 * HOUR_MS, HOUR_MS)
    const ada = await sessions.start({ userId: 'ada' }, undefined)
    const eve: string[] = []
    for (let i = 0; i < 320; i++) eve.push((await sessions.start({ userId: 'eve' }, undefined)).cookie)
    const live = await Promise.all(eve.map((cookie) => sessions.find(cookie)))
    assert.deepEqual([live.filter(Boolean).length, live.at(-33), !!live.at(-32)], [32, undefined, true])
    for (let i = 0; i < 40; i++) await sessions.end((await sessions.start({ userId: 'ada' }, undefined)).session)
    assert.ok(await sessions.find(ada.cookie), 'what ended makes room')
  },
  'grants of a user': async () => {
    const { clock, records, revocations } = recordsOf(100_000)
    const grants = new Grants(records, revocations, clock, HOUR_MS)
    const use = (grantId: string, userId: string) => grants.use({ userId, clientId: 'app', grantId, sid: 's' })
    await use('ada', 'ada')
    for (let i = 0; i < 320; i++) await use(`${i}`, 'eve')
    assert.deepEqual([(await grants.of('eve')).length, (await grants.of('ada')).length], [32, 1])
    assert.equal(await records.get('revoked', '99'), 1, 'of the first hundred, the access tokens ended')
  },
  'assertions and proofs': async () => {
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
}

describe('what is scarce is taken back from the owner that has most:', () => {
  for (const [what, show] of Object.entries({ ...SCARCE, ...RECORDS })) it(what, show)
})

describe('urlOf()', () => {
  const different = (length: number) => String.fromCodePoint(...Array.from({ length }, (_, i) => 0x4e00 + i))

  it('takes no text that is longer than a URL, nor a host that is longer than one, however it is written', () => {
    for (const before of [
      'https://',
      'https:',
      'https:\\\\',
      'https:////',
      'https://user:word@',
      '\thttps://',
      'ht\ntps:/\t/',
      '\0 https://',
      'com.app:',
    ]) {
      assert.equal(urlOf(before + different(254)), undefined, before)
    }
    assert.equal(urlOf(`https://a.test/${'x'.repeat(2_034)}`), undefined)
    assert.equal(urlOf(`https://a.test/${different(1_000)}`)?.host, 'a.test')
    assert.equal(urlOf('/a', 'https://a.test/')?.href, 'https://a.test/a')
  })
})
