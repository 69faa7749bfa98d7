// What applies of the FAPI 2.0 Security Profile: pushed requests, DPoP and iss. A spec for each module, named after it.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { decodeJwt } from 'jose'
import { clientDirectory } from '../../../lib/oauth'
import { manualClock } from '../../../lib/testing'
import { type KeyHolder, keyHolder } from '../key-holder'
import { type Form, VERIFIER, json, serverOfSuite } from '../support'
import type { Page } from '../user-agent'
import { CLIENTS, FapiParty } from './fapi-party'
import { USERS, tokenError } from './relying-party'

/** A spec by the name of its module in the plan. */
const module = (name: string, spec: () => Promise<void>) => void it(`fapi2-security-profile-final-${name}`, spec)

/** The response of `par`. */
async function parError(response: Response): Promise<unknown> {
  assert.ok(response.status === 400 || response.status === 401, String(response.status))
  return (await json(response)).error
}

describe('fapi2-security-profile-final-test-plan', () => {
  const clock = manualClock()
  const running = serverOfSuite({ clock, users: USERS, clients: clientDirectory(CLIENTS) })
  let ada: KeyHolder
  let mallory: KeyHolder
  before(async () => {
    ;[ada, mallory] = [await keyHolder(clock), await keyHolder(clock)]
  })

  const party = (client = 0) => new FapiParty(running, clock, ada, client)
  /** A request with these parameters ends with bound tokens that a resource takes. */
  const succeeds = (more: Form) => async () => {
    const app = party()
    const { access_token: token } = await app.signIn(more)
    assert.equal(await app.call(token), 200)
  }
  const pushFails = (more: Form, error: string) => async () => {
    const app = party()
    assert.equal(await parError(await app.push(app.request(more))), error)
  }
  const pageFails = async (page: Promise<Page>) => {
    const { status, location } = await page
    assert.deepEqual([status, location], [400, null])
  }

  describe('the flow, and iss', () => {
    module('discovery-end-point-verification', async () => {
      const document = await json(await fetch(`${running.issuer}/.well-known/openid-configuration`))
      assert.equal(document.pushed_authorization_request_endpoint, `${running.issuer}/par`)
      assert.equal(document.authorization_response_iss_parameter_supported, true)
      assert.ok((document.dpop_signing_alg_values_supported as string[]).includes('ES256'))
      assert.ok((document.token_endpoint_auth_methods_supported as string[]).includes('private_key_jwt'))
      assert.deepEqual(document.code_challenge_methods_supported, ['S256'])
    })
    module('happy-flow', async () => {
      const app = party()
      const { access_token: token } = await app.signIn()
      assert.deepEqual(decodeJwt(token).cnf, { jkt: ada.jkt })
      assert.deepEqual([await app.call(token), await app.call(token, 'DPoP', mallory)], [200, 401])
      assert.equal(await app.call(token, 'Bearer'), 401)
    })
    module('user-rejects-authentication', async () => {
      const app = party()
      const request = app.request()
      const page = await app.open(await app.pushed(request))
      const params = app.response(await page.submit({ action: 'cancel' }), request)
      assert.deepEqual([params.get('error'), params.get('code')], ['access_denied', null])
    })
    module('ensure-authorization-request-without-state-success', succeeds({ state: '' }))
    module('ensure-authorization-request-without-nonce-success', succeeds({ nonce: '' }))
    module('ensure-authorization-request-with-64-char-nonce-success', succeeds({ nonce: 'n'.repeat(64) }))
    module('ensure-authorization-request-with-long-nonce', succeeds({ nonce: 'n'.repeat(384) }))
    module('ensure-authorization-request-with-long-state', succeeds({ state: 's'.repeat(384) }))
    module('ensure-other-scope-order-succeeds', succeeds({ scope: 'email openid' }))
    module(
      'ensure-response-type-code-idtoken-fails',
      pushFails({ response_type: 'code id_token' }, 'unsupported_response_type'),
    )
    module('ensure-response-type-token-fails', pushFails({ response_type: 'token' }, 'unsupported_response_type'))
    module('ensure-authorization-code-is-bound-to-client', async () => {
      const app = party()
      const code = await app.code(app.request())
      assert.equal(await tokenError(await party(1).redeem(code, { redirect_uri: app.redirectUri })), 'invalid_grant')
    })
    module('ensure-client-id-in-token-endpoint', async () => {
      const app = party()
      const code = await app.code(app.request())
      assert.equal(await tokenError(await app.redeem(code, { client_id: 'second' })), 'invalid_client')
    })
    module('attempt-reuse-authorization-code-after-one-second', async () => {
      const app = party()
      const code = await app.code(app.request())
      const { access_token: token } = await json(await app.redeem(code))
      clock.advance(1_000)
      assert.equal(await tokenError(await app.redeem(code)), 'invalid_grant')
      assert.equal(await app.call(token as string), 401)
    })
    module('ensure-token-endpoint-fails-with-expired-auth-code', async () => {
      const app = party()
      const code = await app.code(app.request())
      clock.advance(61_000)
      assert.equal(await tokenError(await app.redeem(code)), 'invalid_grant')
    })
    module('refresh-token', async () => {
      const app = party()
      const first = await app.signIn()
      const form = { grant_type: 'refresh_token', refresh_token: first.refresh_token }
      assert.equal(await tokenError(await party(1).token(form)), 'invalid_grant', "another app's")
      const { access_token: token } = await json(await app.token(form))
      assert.equal(await app.call(token as string), 200)
    })
  })

  describe('pushed requests', () => {
    module('ensure-unsigned-authorization-request-without-using-par-fails', async () => {
      const app = party()
      const request = app.request()
      const params = app.response(await app.agent.authorize(running.issuer, request), request)
      assert.deepEqual([params.get('error'), params.get('code')], ['invalid_request', null])
    })
    module('ensure-redirect-uri-in-authorization-request', pushFails({ redirect_uri: '' }, 'invalid_request'))
    module('par-ensure-pkce-required', pushFails({ code_challenge: '', code_challenge_method: '' }, 'invalid_request'))
    module(
      'par-plain-pkce-rejected',
      pushFails({ code_challenge: VERIFIER, code_challenge_method: 'plain' }, 'invalid_request'),
    )
    module(
      'par-authorization-request-containing-request_uri-form-param',
      pushFails({ request_uri: 'urn:ietf:params:oauth:request_uri:x' }, 'invalid_request'),
    )
    for (const [name, verifier] of [
      ['ensure-pkce-code-verifier-required', ''],
      ['incorrect-pkce-code-verifier-rejected', 'v'.repeat(43)],
    ] as const) {
      module(name, async () => {
        const app = party()
        const code = await app.code(app.request())
        assert.equal(await tokenError(await app.redeem(code, { code_verifier: verifier })), 'invalid_grant')
      })
    }
    module('par-without-duplicate-parameters', async () => {
      const app = party()
      const request = app.request()
      const page = await app.open(await app.pushed(request))
      app.response(await app.complete(page), request)
    })
    module('par-attempt-reuse-request_uri', async () => {
      const app = party()
      const request = app.request()
      const uri = await app.pushed(request)
      app.response(await app.complete(await app.open(uri)), request)
      const again = app.response(await app.open(uri), request)
      assert.deepEqual([again.get('error'), again.get('code')], ['invalid_request', null])
    })
    module('par-ensure-reused-request-uri-prior-to-auth-completion-succeeds', async () => {
      const app = party()
      const request = app.request()
      const uri = await app.pushed(request)
      assert.equal((await app.open(uri)).title, 'Sign in')
      assert.ok(app.response(await app.complete(await app.open(uri)), request).get('code'))
    })
    module('par-attempt-to-use-expired-request_uri', async () => {
      const app = party()
      const uri = await app.pushed(app.request())
      clock.advance(61_000)
      await pageFails(app.open(uri))
    })
    module('par-attempt-to-use-request_uri-for-different-client', async () => {
      const app = party()
      await pageFails(party(1).open(await app.pushed(app.request())))
    })
    module('par-attempt-invalid-http-method', async () => {
      for (const method of ['GET', 'PUT']) {
        assert.equal((await fetch(`${running.issuer}/par`, { method })).status, 405)
      }
    })
  })

  describe('DPoP', () => {
    const htu = () => `${running.issuer}/token`
    /** The token endpoint with this proof. */
    const withProof = async (claims: Record<string, unknown>) => {
      const app = party()
      return app.redeem(await app.code(app.request()), {}, await ada.proof(htu(), claims))
    }
    const secondsFromNow = (seconds: number) => Math.floor(clock.date() / 1_000) + seconds

    module('ensure-holder-of-key-required', async () => {
      const app = party()
      assert.equal(await tokenError(await app.redeem(await app.code(app.request()), {}, '')), 'invalid_dpop_proof')
    })
    module('access-token-type-header-case-sensitivity', async () => {
      const app = party()
      const { access_token: token } = await app.signIn()
      for (const scheme of ['dpop', 'DPOP', 'dPoP']) assert.equal(await app.call(token, scheme), 200)
    })
    module('check-dpop-proof-nbf-exp', async () => {
      const response = await withProof({ nbf: secondsFromNow(0), exp: secondsFromNow(300) })
      assert.equal(response.status, 200)
    })
    module('ensure-dpopproof-with-iat-10seconds-before-succeeds', async () => {
      assert.equal((await withProof({ iat: secondsFromNow(-10) })).status, 200)
    })
    module('ensure-dpopproof-with-iat-10seconds-after-succeeds', async () => {
      assert.equal((await withProof({ iat: secondsFromNow(10) })).status, 200)
    })
    module('dpop-negative-tests', async () => {
      const app = party()
      const code = await app.code(app.request())
      const good = await ada.proof(htu())
      for (const [what, proof] of [
        ['another method', await ada.proof(htu(), {}, 'GET')],
        ['another address', await ada.proof(`${running.issuer}/par`)],
        ['too old', await ada.proof(htu(), { iat: secondsFromNow(-3_600) })],
        ['from the future', await ada.proof(htu(), { iat: secondsFromNow(3_600) })],
        ['no iat', await ada.proof(htu(), { iat: undefined })],
        ['no jti', await ada.proof(htu(), { jti: undefined })],
        ['no htm', await ada.proof(htu(), { htm: undefined })],
        ['no htu', await ada.proof(htu(), { htu: undefined })],
        ['another typ', await ada.proof(htu(), {}, 'POST', { typ: 'jwt' })],
        ['no key', await ada.proof(htu(), {}, 'POST', { jwk: undefined })],
        ['a private key', await ada.proof(htu(), {}, 'POST', { jwk: { ...ada.jwk, d: 'AAAA' } })],
        ["another's key", await ada.proof(htu(), {}, 'POST', { jwk: mallory.jwk })],
        ['a changed signature', `${good.slice(0, -8)}AAAAAAAA`],
        ['no signature', `${good.slice(0, good.lastIndexOf('.'))}.`],
        ['nothing of a JWT', 'proof'],
      ] as const) {
        assert.equal(await tokenError(await app.redeem(code, {}, proof)), 'invalid_dpop_proof', what)
      }
      assert.equal((await app.redeem(code, {}, good)).status, 200)
      const other = await party().code(party().request())
      assert.equal(await tokenError(await party().redeem(other, {}, good)), 'invalid_dpop_proof', 'used before')
    })
    module('ensure-mismatched-dpop-jkt-fails', async () => {
      const app = party()
      const proof = await ada.proof(`${running.issuer}/par`)
      assert.equal(await parError(await app.push(app.request({ dpop_jkt: mallory.jkt }), proof)), 'invalid_dpop_proof')
    })
    for (const [name, bind] of [
      [
        'ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt',
        async (app: FapiParty) => app.code(app.request(), await mallory.proof(`${running.issuer}/par`)),
      ],
      [
        'ensure-token-endpoint-fails-with-mismatched-dpop-jkt',
        (app: FapiParty) => app.code(app.request({ dpop_jkt: mallory.jkt })),
      ],
    ] as const) {
      module(name, async () => {
        const app = party()
        assert.equal(await tokenError(await app.redeem(await bind(app))), 'invalid_grant')
      })
    }
    module('ensure-dpopproof-at-par-endpoint-binding-success', async () => {
      const app = party()
      const code = await app.code(app.request(), await ada.proof(`${running.issuer}/par`))
      assert.equal((await app.redeem(code)).status, 200)
    })
    module('ensure-dpop-auth-code-binding-success', () => succeeds({ dpop_jkt: ada.jkt })())
  })
})
