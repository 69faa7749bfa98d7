import assert from 'node:assert/strict'
import { request } from 'node:https'
import { it } from 'node:test'
import { ConfidentialClientApplication, CryptoProvider, PublicClientApplication } from '@azure/msal-node'
import { UserAgent } from '../oauth/user-agent'
import { CERT } from '../support/tls'
import { startOverTls } from './over-tls'
import { SECRET, follow } from './today'

/** MSAL's requests, to a server whose certificate signs itself. */
function send(method: string) {
  return <T>(url: string, { headers, body }: { headers?: Record<string, string>; body?: string } = {}) =>
    new Promise<{ headers: Record<string, string>; body: T; status: number }>((resolve, reject) => {
      const sent = request(url, { method, ca: CERT, ...(headers && { headers }) }, (response) => {
        let text = ''
        response.on('data', (chunk: Buffer) => (text += chunk.toString()))
        response.on('end', () =>
          resolve({ headers: {}, body: JSON.parse(text) as T, status: response.statusCode ?? 0 }),
        )
      })
      sent.on('error', reject).end(body)
    })
}

for (const kind of ['public', 'confidential'] as const) {
  it(`@azure/msal-node signs in, refreshes silently and signs out, as a ${kind} client`, async (t) => {
    const secret = kind === 'confidential' ? { secret: SECRET } : {}
    const system = await startOverTls((home) => ({
      ...secret,
      redirectUris: [`${home}/cb`],
      postLogoutRedirectUris: [`${home}/bye`],
    }))
    t.after(() => system.close())
    const auth = { clientId: 'app', authority: system.issuer, knownAuthorities: [new URL(system.issuer).host] }
    const networkClient = { sendGetRequestAsync: send('GET'), sendPostRequestAsync: send('POST') }
    const settings = { system: { networkClient, protocolMode: 'OIDC' as const } }
    const msal =
      kind === 'confidential'
        ? new ConfidentialClientApplication({ auth: { ...auth, clientSecret: SECRET }, ...settings })
        : new PublicClientApplication({ auth, ...settings })

    const { verifier, challenge } = await new CryptoProvider().generatePkceCodes()
    const asked = { scopes: ['tree.read'], redirectUri: `${system.home}/cb`, state: 'st-1', nonce: 'n-1' }
    const url = await msal.getAuthCodeUrl({ ...asked, codeChallenge: challenge, codeChallengeMethod: 'S256' })
    assert.match(new URL(url).searchParams.get('scope') ?? '', /offline_access/, 'MSAL adds it by itself')
    const agent = new UserAgent(system.origin)
    const back = new URL((await follow(agent, url, (to) => to.includes('/cb?'))) as string)
    const code = back.searchParams.get('code') ?? ''
    const first = await msal.acquireTokenByCode({ ...asked, code, codeVerifier: verifier })
    assert.deepEqual(first.scopes.sort(), ['offline_access', 'openid', 'profile', 'tree.read'])
    assert.equal(first.account?.localAccountId ?? first.uniqueId, 'KWC6-X7D')

    const { account } = first
    assert.ok(account)
    const again = await msal.acquireTokenSilent({ account, scopes: ['tree.read'], forceRefresh: true })
    assert.notEqual(again?.accessToken, first.accessToken)
    const leave = `${system.issuer}/logout?${new URLSearchParams({ id_token_hint: again?.idToken ?? '', post_logout_redirect_uri: `${system.home}/bye` }).toString()}`
    assert.equal((await agent.request(leave)).location, `${system.home}/bye`)
    // MSAL asks for offline_access, which outlives a sign-out.
    const later = await msal.acquireTokenSilent({ account, scopes: ['tree.read'], forceRefresh: true })
    assert.notEqual(later?.accessToken, again?.accessToken)
    assert.match(await agent.request(url).then((page) => page.text), /name="password"/)
  })
}
