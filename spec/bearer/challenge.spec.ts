import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ChallengeOptions, denialOf, isChallengeText } from '../../lib/bearer/challenge'
import type { Reason, Refusal } from '../../lib/bearer/refusal/refusal'

const none: ChallengeOptions = { realm: undefined, resourceMetadata: undefined }
const algs = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'

/** Status, code, the words for people, and the field that goes with them. */
type Said = readonly [status: number, code: string, message: string, challenge?: string]

function said(refusal: Refusal, options = none): Said {
  const { status, code, message, headers, reason } = denialOf(refusal, options)
  assert.equal(reason, refusal.refused)
  const { 'WWW-Authenticate': challenge } = headers
  return challenge === undefined ? [status, code, message] : [status, code, message, challenge]
}

/** A refusal with an error code (RFC 6750 §3.1), whose description says what its message says. */
function coded(status: number, code: string, message: string, scheme = 'Bearer', more = ''): Said {
  return [status, code, message, `${scheme} error="${code}", error_description="${message}"${more}`]
}

describe('denialOf()', () => {
  it('gives every reason its status, code and message (RFC 6750 §3, §3.1)', () => {
    const notValid = coded(401, 'invalid_token', 'The access token is not valid')
    const unavailable = [503, 'unavailable', 'The access token cannot be checked at the moment'] as const
    const proof = coded(401, 'invalid_dpop_proof', 'The DPoP proof is not valid for this request')
    const expected: Readonly<Record<Reason, Said>> = {
      no_token: [401, 'unauthorized', 'An access token is required', 'Bearer'],
      malformed_credentials: coded(
        400,
        'invalid_request',
        'The access token is not written as the Bearer scheme has it',
      ),
      several_tokens: coded(400, 'invalid_request', 'The request brings credentials more than once'),
      scope: coded(403, 'insufficient_scope', 'The access token does not grant the scope needed'),
      unauthenticated_session: coded(403, 'insufficient_scope', 'A signed-in session is needed'),
      authentication: coded(401, 'insufficient_user_authentication', 'A more recent or a stronger login is needed'),
      keys_unavailable: unavailable,
      introspection_unavailable: unavailable,
      verify_unavailable: unavailable,
      revocation_unavailable: unavailable,
      dpop_unavailable: unavailable,
      dpop_proof: proof,
      dpop_replay: proof,
      dpop_nonce: coded(401, 'use_dpop_nonce', 'The DPoP proof must bear the nonce that comes with this answer'),
      dpop_required: coded(401, 'invalid_token', 'An access token bound to a key is required'),
      dpop_binding: notValid,
      expired: coded(401, 'invalid_token', 'The access token has expired'),
      malformed_token: notValid,
      critical_header: notValid,
      token_type: notValid,
      id_token: notValid,
      algorithm: notValid,
      unknown_key: notValid,
      signature: notValid,
      issuer: notValid,
      audience: notValid,
      expiry: notValid,
      not_yet_valid: notValid,
      issued_at: notValid,
      too_old: notValid,
      subject: notValid,
      client: notValid,
      token_id: notValid,
      sender_constrained: notValid,
      required_claim: notValid,
      claim_check: notValid,
      session_kind: notValid,
      inactive: notValid,
      revoked: notValid,
    }
    for (const [refused, each] of Object.entries(expected)) {
      assert.deepEqual(said({ refused: refused as Reason }), each, refused)
    }
  })

  it('sends Retry-After and no challenge if a dependency is unavailable', () => {
    const refused = 'keys_unavailable'
    assert.deepEqual(denialOf({ refused }, none).headers, { 'Retry-After': '1' })
    assert.deepEqual(denialOf({ refused, retryAfterSec: 7 }, none).headers, { 'Retry-After': '7' })
  })

  it('names the scope and the login that would have been enough (RFC 6750 §3, RFC 9470 §3)', () => {
    const challenge = (refusal: Refusal) => denialOf(refusal, none).headers['WWW-Authenticate'] ?? ''
    assert.match(challenge({ refused: 'scope', scope: ['a', 'b'] }), /", scope="a b"$/)
    const login = (acrValues: string[], maxAgeSec?: number) =>
      challenge({ refused: 'authentication', authentication: { acrValues, maxAgeSec } })
    assert.match(login(['mfa', 'hwk'], 0), /needed", acr_values="mfa hwk", max_age="0"$/)
    assert.match(login([], 60), /needed", max_age="60"$/)
    assert.match(login(['mfa']), /needed", acr_values="mfa"$/)
  })

  it('writes realm, resource metadata and accepted schemes into the challenge', () => {
    const options = { realm: 'tree', resourceMetadata: 'https://api.test/m' }
    const bare = 'realm="tree", resource_metadata="https://api.test/m"'
    const challenge = (refused: Reason, dpop?: 'accepted' | 'required', scheme?: 'DPoP') =>
      denialOf({ refused, ...(scheme && { scheme }) }, { ...options, dpop }).headers['WWW-Authenticate']
    assert.equal(challenge('no_token'), `Bearer ${bare}`)
    assert.equal(challenge('no_token', 'accepted'), `Bearer ${bare}, DPoP algs="${algs}"`)
    assert.equal(challenge('no_token', 'required'), `DPoP ${bare}, algs="${algs}"`)
    const expired = 'error="invalid_token", error_description="The access token has expired"'
    const whole = `realm="tree", ${expired}, resource_metadata="https://api.test/m"`
    assert.equal(challenge('expired', 'accepted'), `Bearer ${whole}`)
    assert.equal(challenge('expired', 'accepted', 'DPoP'), `DPoP ${whole}, algs="${algs}"`)
  })

  it('sends a nonce in a response that must not be cached (RFC 9449 §8.2, §9)', () => {
    const { headers } = denialOf({ refused: 'dpop_nonce', scheme: 'DPoP', nonce: 'n' }, none)
    assert.deepEqual(Object.keys(headers), ['WWW-Authenticate', 'DPoP-Nonce', 'Cache-Control'])
    assert.deepEqual([headers['DPoP-Nonce'], headers['Cache-Control']], ['n', 'no-store'])
  })

  it('has the cause of the refusal, if any', () => {
    const cause = new Error('x')
    for (const refused of ['no_token', 'keys_unavailable', 'claim_check'] as const) {
      assert.equal(denialOf({ refused, cause }, none).cause, cause)
      assert.ok(!('cause' in denialOf({ refused }, none)))
    }
  })
})

describe('isChallengeText()', () => {
  it('takes texts of ASCII without quotes and backslashes (RFC 6750 §3)', () => {
    for (const value of ['', 'a b', '!#[]~']) assert.ok(isChallengeText(value))
    for (const value of ['"', '\\', 'a\n', '\u007f', 'é', 7, undefined, null, ['a']]) assert.ok(!isChallengeText(value))
  })
})
