import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LocalProofs } from '../../lib/bearer/dpop/seen-proofs'
import { OwnedRecords } from '../../lib/http/owners'
import { Places } from '../../lib/http/places'
import { urlOf } from '../../lib/http/url'
import { memoryOAuthStore } from '../../lib/oauth'
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

describe('what is scarce is taken back from the owner that has most:', () => {
  for (const [what, show] of Object.entries(SCARCE)) it(what, show)
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
