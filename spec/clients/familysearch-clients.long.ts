import assert from 'node:assert/strict'
import { type TestContext, after, before, describe, it } from 'node:test'
import FamilySearch from 'fs-js-lite'
import { Passport } from 'passport'
import { Strategy as FamilySearchStrategy } from 'passport-familysearch'
import { startDemo } from '../../demo/spec/running'
import { UserAgent } from '../oauth/user-agent'
import { assertIs, atLeast, below } from '../support/until'
import { startSystem } from './system'

let system: Awaited<ReturnType<typeof startSystem>>
before(async () => {
  system = await startSystem()
})
after(() => system.close())

/** The service's own client, unmodified but for its hosts, and for http, which it does not take for a whole URL. */
function clientOf(origin: string, options: ConstructorParameters<typeof FamilySearch>[0]): FamilySearch {
  const fs = new FamilySearch(options)
  fs.identHost = fs.platformHost = () => origin
  fs.middleware.request[0] = (_client, request, next) => {
    if (!request.url.startsWith('http')) request.url = origin + request.url
    next()
  }
  return fs
}
const call = (ask: (callback: FamilySearch.Callback) => void) =>
  new Promise<FamilySearch.Answer>((resolve, reject) => ask((err, answer) => (err ? reject(err) : resolve(answer))))

describe('fs-js-lite', () => {
  const client = () => clientOf(system.origin, { appKey: 'a02j000000JBxOxAAL', redirectUri: system.callback })

  it('logs a user in, with its redirect URI in the token URL, and calls the API', async () => {
    const fs = client()
    const agent = new UserAgent(system.origin)
    const page = await agent.request(fs.oauthRedirectURL('a state'))
    const back = await (await page.logIn()).finish()
    assert.equal(back.params.get('state'), 'a state')
    const response = await call((done) => fs.oauthToken(back.params.get('code') ?? '', done))
    assert.equal(response.statusCode, 200)
    assert.equal(response.data.token_type, 'Bearer')
    assert.equal(fs.jwt.split('.').length, 3)
    assert.equal(fs.getAccessToken(), response.data.access_token)
    const user = await call((done) => fs.get('/platform/users/current', done))
    const { users } = user.data as { users: { id: string; app: string }[] }
    assert.deepEqual([users[0]?.id, users[0]?.app], ['KWC6-X7D', 'a02j000000JBxOxAAL'])
    const logout = await call((done) => fs.post('/platform/logout', {}, done))
    assert.equal(logout.statusCode, 204)
    assert.equal(await system.server.verify(fs.getAccessToken()), undefined)
  })

  it('gets an unauthenticated session, good for places only', async () => {
    const fs = client()
    const response = await call((done) => fs.oauthUnauthenticatedToken('192.168.1.1', done))
    assert.equal(response.data.token_type, 'family_search')
    assert.equal((await call((done) => fs.get('/platform/places', done))).statusCode, 200)
    assert.equal((await call((done) => fs.get('/platform/users/current', done))).statusCode, 403)
  })
})

describe('passport-familysearch', () => {
  it('logs a user in without a secret, and loads the profile', async () => {
    const passport = new Passport()
    const options = {
      devKey: 'a02j000000JBxOxAAL',
      callbackURL: system.callback,
      authorizationURL: `${system.issuer}/authorization`,
      tokenURL: `${system.issuer}/token`,
      userProfileURL: `${system.origin}/platform/users/current`,
    }
    passport.use(new FamilySearchStrategy(options, (_access, _refresh, profile, done) => done(null, profile)))
    const authenticate = passport.authenticate('familysearch', { session: false, state: 'st' })
    system.app.use(passport.initialize())
    system.app.get('/passport', authenticate)
    system.app.get('/cb', authenticate, (req, res) => void res.json((req as { user?: unknown }).user))

    const agent = new UserAgent(system.origin)
    const start = await agent.request('/passport')
    const page = await agent.request(start.location ?? '')
    const back = await (await page.logIn()).finish()
    assert.equal(back.params.get('state'), 'st')
    const profile = await agent.request(back.location ?? '')
    assert.equal(profile.status, 200, profile.text)
    assert.equal((JSON.parse(profile.text) as { id: string }).id, 'KWC6-X7D')
  })
})

const [LIMIT_MS, WINDOW_MS] = [1_000, 2_500]

async function reading(t: TestContext) {
  const windows = { limitMs: LIMIT_MS, windowMs: WINDOW_MS, searchMs: 100 }
  const { origin, visitor, close } = await startDemo({ dialect: 'familysearch', ...windows })
  t.after(close)
  const accessToken = await visitor.userToken('ada', 'family-app')
  const fs = clientOf(origin, { appKey: 'family-app', accessToken })
  return (path: string) => call((done) => fs.get(path, done))
}

describe('fs-js-lite with the demo', () => {
  it('reads what its token opens, and what each answer cost', async (t) => {
    const get = await reading(t)
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
    const get = await reading(t)
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
