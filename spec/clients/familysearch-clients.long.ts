import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import FamilySearch from 'fs-js-lite'
import { Passport } from 'passport'
import { Strategy as FamilySearchStrategy } from 'passport-familysearch'
import { UserAgent } from '../oauth/user-agent'
import { startSystem } from './system'

let system: Awaited<ReturnType<typeof startSystem>>
before(async () => {
  system = await startSystem()
})
after(() => system.close())

describe('fs-js-lite', () => {
  /** Unmodified but for its hosts, and for http, which it does not take for a whole URL. */
  function client(): FamilySearch {
    const fs = new FamilySearch({ appKey: 'a02j000000JBxOxAAL', redirectUri: system.callback })
    fs.identHost = fs.platformHost = () => system.origin
    fs.middleware.request[0] = (_client, request, next) => {
      if (!request.url.startsWith('http')) request.url = system.origin + request.url
      next()
    }
    return fs
  }
  const call = (ask: (callback: FamilySearch.Callback) => void) =>
    new Promise<FamilySearch.Answer>((resolve, reject) => ask((err, answer) => (err ? reject(err) : resolve(answer))))

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
