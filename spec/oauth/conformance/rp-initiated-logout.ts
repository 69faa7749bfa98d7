// OpenID Connect RP-Initiated Logout 1.0, a spec for each module of its certification plan and named after it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { clientDirectory } from '../../../lib/oauth'
import { manualClock } from '../../../lib/testing'
import { type Form, json, serverOfSuite } from '../support'
import { CLIENTS, RelyingParty, USERS } from './relying-party'

const POST_LOGOUT = CLIENTS[0]?.postLogoutRedirectUris?.[0] as string

describe('oidcc-rp-initiated-logout-certification-test-plan', () => {
  const clock = manualClock()
  const running = serverOfSuite({ clock, users: USERS, clients: clientDirectory(CLIENTS) })

  /** Signs in, sends the user to the logout endpoint, and returns the page and whether the user is still signed in. */
  async function logout(params: (hint: string) => Form) {
    const app = new RelyingParty(running, clock)
    const { id_token: hint } = await app.signIn()
    const query = new URLSearchParams(params(hint)).toString()
    const page = await app.agent.request(`${running.issuer}/logout?${query}`)
    const isSignedIn = async () => {
      const { params } = await app.visit(app.request({ prompt: 'none' }))
      assert.ok(params.has('code') || params.get('error') === 'login_required')
      return params.has('code')
    }
    return { page, isSignedIn }
  }
  /** The server asks the user, who is signed in until then, and does not redirect. */
  const staysHere =
    (params: (hint: string) => Form, status = 200) =>
    async () => {
      const { page, isSignedIn } = await logout(params)
      assert.deepEqual([page.status, page.title, page.location], [status, 'Sign out?', null])
      assert.equal(page.text.includes('an address that it has not registered'), status === 400)
      assert.ok(await isSignedIn())
      const done = await page.submit({})
      assert.deepEqual([done.title, done.location], ['You are signed out', null])
      assert.equal(await isSignedIn(), false)
    }

  it('oidcc-rp-initiated-logout-discovery-endpoint-verification', async () => {
    const document = await json(await fetch(`${running.issuer}/.well-known/openid-configuration`))
    assert.equal(new URL(document.end_session_endpoint as string).origin, running.origin)
  })

  it('oidcc-rp-initiated-logout', async () => {
    const { page, isSignedIn } = await logout((hint) => ({
      id_token_hint: hint,
      post_logout_redirect_uri: POST_LOGOUT,
      state: 'a state',
    }))
    assert.equal(page.location, `${POST_LOGOUT}?state=a%20state`)
    assert.equal(await isSignedIn(), false)
  })

  it('oidcc-rp-initiated-logout-no-state', async () => {
    const { page, isSignedIn } = await logout((hint) => ({
      id_token_hint: hint,
      post_logout_redirect_uri: POST_LOGOUT,
    }))
    assert.equal(page.location, POST_LOGOUT)
    assert.equal(await isSignedIn(), false)
  })

  it('oidcc-rp-initiated-logout-no-post-logout-redirect-uri', async () => {
    const { page, isSignedIn } = await logout((hint) => ({ id_token_hint: hint, state: 'a state' }))
    assert.deepEqual([page.status, page.title, page.location], [200, 'You are signed out', null])
    assert.equal(await isSignedIn(), false)
  })

  for (const [module, params] of [
    ['oidcc-rp-initiated-logout-no-params', {}],
    ['oidcc-rp-initiated-logout-only-state', { state: 'a state' }],
  ] as const) {
    it(module, async () => {
      const { page, isSignedIn } = await logout(() => params)
      assert.deepEqual([page.status, page.title], [200, 'Sign out?'])
      const done = await page.submit({})
      assert.deepEqual([done.title, done.location], ['You are signed out', null])
      assert.equal(await isSignedIn(), false)
    })
  }

  it(
    'oidcc-rp-initiated-logout-no-id-token-hint',
    staysHere(() => ({ post_logout_redirect_uri: POST_LOGOUT, state: 'a state' })),
  )
  it(
    'oidcc-rp-initiated-logout-bad-id-token-hint',
    staysHere(() => ({ id_token_hint: 'not a token', post_logout_redirect_uri: POST_LOGOUT, state: 'a state' })),
  )
  it(
    'oidcc-rp-initiated-logout-modified-id-token-hint',
    staysHere((hint) => {
      const [header, payload = '', signature] = hint.split('.')
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object
      const changed = Buffer.from(JSON.stringify({ ...claims, sub: 'another' })).toString('base64url')
      const id_token_hint = [header, changed, signature].join('.')
      return { id_token_hint, post_logout_redirect_uri: POST_LOGOUT, state: 'a state' }
    }),
  )
  it(
    'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri',
    staysHere((hint) => ({ id_token_hint: hint, post_logout_redirect_uri: 'https://evil.test/' }), 400),
  )
  it(
    'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri',
    staysHere((hint) => ({ id_token_hint: hint, post_logout_redirect_uri: `${POST_LOGOUT}?foo=bar` }), 400),
  )
})
