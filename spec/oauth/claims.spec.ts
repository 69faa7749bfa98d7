import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { userDirectory } from '../../lib/oauth'
import { type Form, type RunningServer, json, post, serverOfSuite, startServer, askToken, refresh } from './support'
import { UserAgent, request, tokensFor } from './user-agent'
import { USER_CLAIMS } from './user-claims'

const CLAIMS = { ...USER_CLAIMS, member_since: 2_020 }
const users = userDirectory([{ id: 'KWC6-X7D', username: 'ada', password: 'analytical engine', claims: CLAIMS }], {
  cost: 10,
})

/** The id_token's claims and what userinfo says, after a login that asked for them. */
async function claimsOf({ issuer }: RunningServer, more: Form) {
  const tokens = await tokensFor(issuer, more)
  const authorization = `Bearer ${tokens.access_token}`
  const userinfo = await json(await fetch(`${issuer}/userinfo`, { headers: { authorization } }))
  return { idToken: decodeJwt(tokens.id_token), userinfo, tokens }
}

describe('claims', () => {
  const running = serverOfSuite({ users })

  it("idTokenScopes: 'all' is the service's dialect, [] puts no claim of a scope into an id_token", async () => {
    const more = { scope: 'openid profile email' }
    const all = await claimsOf(await startServer({ users, idTokenScopes: 'all' }), more)
    assert.equal(all.idToken.email, 'ada@example.org')
    const none = await claimsOf(await startServer({ users, idTokenScopes: [] }), more)
    assert.equal(none.idToken.name, undefined)
    assert.equal(none.userinfo.name, 'Ada Lovelace')
  })

  it("scopes are the app's: others in place of the default ones, beside them, or fewer", async () => {
    const scopes = { profile: ['name', 'preferred_username'], membership: ['member_since'], phone: false as const }
    const own = await startServer({ users, scopes })
    const { userinfo, tokens } = await claimsOf(own, { scope: 'openid profile membership phone' })
    const profile = { name: 'Ada Lovelace', preferred_username: 'countess' }
    assert.deepEqual(userinfo, { sub: 'KWC6-X7D', ...profile, member_since: 2_020 })
    assert.equal(tokens.scope, 'openid profile membership')
    const discovery = await json(await fetch(`${own.issuer}/.well-known/openid-configuration`))
    assert.ok((discovery.scopes_supported as string[]).includes('membership'))
    assert.ok(!(discovery.scopes_supported as string[]).includes('phone'))
    assert.ok((discovery.claims_supported as string[]).includes('member_since'))
  })

  it('OIDC Core §5.5: claims requested one by one arrive where they were requested, also after a refresh', async () => {
    const claims = JSON.stringify({
      userinfo: { email: { essential: true }, 'https://unknown.test/claim': null },
      id_token: { picture: null },
    })
    const { idToken, userinfo, tokens } = await claimsOf(running, { scope: 'openid', claims })
    assert.deepEqual(userinfo, { sub: 'KWC6-X7D', email: 'ada@example.org' })
    assert.equal(idToken.picture, CLAIMS.picture)
    const fresh = await json(await refresh(running.issuer, tokens.refresh_token))
    assert.equal(decodeJwt(fresh.id_token as string).picture, CLAIMS.picture)
    const authorization = `Bearer ${fresh.access_token as string}`
    const again = await json(await fetch(`${running.issuer}/userinfo`, { headers: { authorization } }))
    assert.equal(again.email, 'ada@example.org')
  })

  it('OIDC Core §5.5: a malformed claims parameter is refused', async () => {
    for (const claims of ['{', '[]', '"email"', '{"userinfo":[]}', '{"id_token":"email"}']) {
      const page = await new UserAgent(running.issuer).authorize(running.issuer, request({ claims }))
      assert.equal(page.params.get('error'), 'invalid_request', claims)
      assert.match(page.params.get('error_description') ?? '', /claims/)
    }
  })

  it('OIDC Core §2 and §5.5.1.1: the id_token has acr if requested; an acr that no login has fails', async () => {
    assert.equal((await claimsOf(running, {})).idToken.acr, undefined)
    assert.equal((await claimsOf(running, { acr_values: '2 1' })).idToken.acr, '1')
    const essential = (values: string[]) => JSON.stringify({ id_token: { acr: { essential: true, values } } })
    assert.equal((await claimsOf(running, { claims: essential(['1', '2']) })).idToken.acr, '1')
    const claims = essential(['urn:phishing-resistant'])
    const page = await new UserAgent(running.issuer).authorize(running.issuer, request({ claims }))
    assert.equal(page.params.get('error'), 'unmet_authentication_requirements')
    const own = await claimsOf(await startServer({ users, acr: 'urn:pwd' }), { acr_values: 'urn:pwd' })
    assert.equal(own.idToken.acr, 'urn:pwd')
  })

  it('OIDC Core §5.3.1 and RFC 6750 §2.2: userinfo takes the token in the form body, and no second one', async () => {
    const { tokens } = await claimsOf(running, { scope: 'openid email' })
    const access_token = tokens.access_token
    const url = `${running.issuer}/userinfo`
    const response = await post(url, { access_token })
    assert.equal(response.status, 200)
    assert.equal((await json(response)).email, 'ada@example.org')
    const twice = await post(url, { access_token }, { authorization: `Bearer ${access_token}` })
    assert.equal(twice.status, 400)
    assert.equal((await fetch(`${url}?access_token=${access_token}`)).status, 401, 'not in the query')
    assert.equal((await post(url, { access_token: 'x' })).status, 401)
  })
})

describe('platformLogout', () => {
  it('takes ?access_token= as familysearch-javascript-sdk sends it, where tokenFrom allows it, and nowhere else', async () => {
    for (const [tokenFrom, status] of [
      [['query'], 204],
      [[], 401],
      [undefined, 401],
    ] as const) {
      const { issuer, origin, server } = await startServer({ tokenFrom })
      const { access_token: token } = await askToken(issuer, { grant_type: 'client_credentials' })
      const url = `${origin}/platform/logout?access_token=${token}`
      assert.equal((await fetch(url, { method: 'POST' })).status, status)
      assert.equal((await server.verify(token)) === undefined, status === 204)
    }
  })
})
