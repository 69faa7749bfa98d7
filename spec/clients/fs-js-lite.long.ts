import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import FamilySearch from 'fs-js-lite'
import { startDemo } from '../../demo/spec/running'
import { assertIs, atLeast, below } from '../support/until'

const LIMIT_MS = 1_000
const WINDOW_MS = 2_500

/** The service's own public client, with nothing changed but where it finds the service. */
async function client(t: TestContext, who = 'ada') {
  const { origin, visitor, close } = await startDemo({
    dialect: 'familysearch',
    limitMs: LIMIT_MS,
    windowMs: WINDOW_MS,
    searchMs: 100,
  })
  t.after(close)
  const fs = new FamilySearch({ appKey: 'family-app', accessToken: await visitor.userToken(who, 'family-app') })
  fs.identHost = fs.platformHost = () => origin
  // Its own puts the host before everything that is not https://, and what it retries has the host already.
  fs.middleware.request[0] = (_client, request, next) => {
    if (!request.url.startsWith('http')) request.url = origin + request.url
    next()
  }
  return (path: string) =>
    new Promise<FamilySearch.Answer>((resolve, reject) => {
      fs.get(path, (error, answer) => (error ? reject(error) : resolve(answer)))
    })
}

describe('fs-js-lite with the demo', () => {
  it('reads what its token opens, and what each answer cost', async (t) => {
    const get = await client(t)
    const current = await get('/platform/users/current')
    assert.equal(current.statusCode, 200)
    const { users } = current.data as { users: { id: string; app: string; leftMs: number }[] }
    assert.deepEqual(
      users.map(({ id, app }) => [id, app]),
      [['KWC6-X7D', 'family-app']],
    )
    assert.match(current.headers['x-processing-time'] ?? '', /^\d+$/)
    assert.equal(current.headers['x-throttle-window-size'], String(LIMIT_MS))

    const person = await get('/platform/tree/persons/LWB1-ADA')
    const { persons } = person.data as { persons: { id: string }[] }
    assert.deepEqual(
      persons.map(({ id }) => id),
      ['LWB1-ADA'],
    )
    assert.equal((await get('/platform/tree/persons/NOBODY')).statusCode, 404)

    const search = await get('/platform/tree/search?name=byron')
    assert.equal(search.headers['x-throttle-window-size'], '9000')
    assertIs(Number(search.headers['x-processing-time']), atLeast(99), search.headers['x-processing-time'])
  })

  it('is refused over the limit, waits for Retry-After, retries and is let in', async (t) => {
    const get = await client(t)
    // The window may end between the two requests; then there is nothing to wait for, and it is done once more.
    for (let attempt = 1; ; attempt++) {
      const forced = await get(`/platform/throttled?processingTime=${LIMIT_MS + 1}`)
      assert.deepEqual([forced.statusCode, forced.body], [200, ''])
      const answer = await get('/platform/users/current')
      assert.equal(answer.statusCode, 200)
      if (!answer.throttled && attempt < 4) continue
      assert.deepEqual([answer.throttled, answer.retries], [true, 1], 'one wait was enough')
      assertIs(Number(answer.headers['x-throttle-millis-used']), below(LIMIT_MS), 'a fresh window')
      break
    }
  })
})
