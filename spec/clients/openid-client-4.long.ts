import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Issuer, generators } from 'openid-client4'
import { generateKeys } from '../support/generate-keys'
import { UserAgent } from '../oauth/user-agent'
import { follow, startLoginSystem } from './today'

it('openid-client 4 signs in by private_key_jwt, whose assertion names several addresses of the server', async (t) => {
  const { publicKey, privateKey } = generateKeys('rsa')
  const system = await startLoginSystem(() => ({
    publicKeys: [publicKey],
    grants: ['authorization_code', 'refresh_token', 'client_credentials'],
  }))
  t.after(() => system.close())
  const issuer = await Issuer.discover(system.issuer)
  const jwk = { ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig' }
  const method = 'private_key_jwt' as const
  const metadata = { client_id: 'app', token_endpoint_auth_method: method, redirect_uris: [system.callback] }
  const client = new issuer.Client(metadata, { keys: [jwk] })
  const [verifier, state] = [generators.codeVerifier(), generators.state()]
  const url = client.authorizationUrl({
    scope: 'openid',
    state,
    code_challenge: generators.codeChallenge(verifier),
    code_challenge_method: 'S256',
  })
  const back = await follow(new UserAgent(system.origin), url, (to) => to.startsWith(system.callback))
  const params = client.callbackParams(back as string)
  const tokens = await client.callback(system.callback, params, { code_verifier: verifier, state })
  assert.equal(tokens.claims().sub, 'KWC6-X7D')
  assert.equal((await client.introspect(tokens.access_token ?? '')).active, true)
  assert.equal(typeof (await client.grant({ grant_type: 'client_credentials' })).access_token, 'string')
})
