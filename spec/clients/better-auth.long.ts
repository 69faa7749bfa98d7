import assert from 'node:assert/strict'
import { it } from 'node:test'
import { UserAgent } from '../oauth/user-agent'
import { SECRET, follow, startLoginSystem } from './today'

it('better-auth logs a user in by discovery, with PKCE and userinfo', async (t) => {
  const { betterAuth } = await import('better-auth')
  const { genericOAuth } = await import('better-auth/plugins')
  const { toNodeHandler } = await import('better-auth/node')
  const { memoryAdapter } = await import('better-auth/adapters/memory')
  const system = await startLoginSystem((origin) => ({
    secret: SECRET,
    redirectUris: [`${origin}/api/auth/oauth2/callback/tollgate`],
  }))
  t.after(() => system.close())
  const auth = betterAuth({
    baseURL: system.origin,
    secret: 'a secret of its own for its cookies',
    database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
    plugins: [
      genericOAuth({
        config: [
          {
            providerId: 'tollgate',
            clientId: 'app',
            clientSecret: SECRET,
            discoveryUrl: `${system.issuer}/.well-known/openid-configuration`,
            scopes: ['openid', 'profile', 'email'],
            pkce: true,
            mapProfileToUser: (profile: Record<string, unknown>) => ({ name: String(profile.given_name) }),
          },
        ],
      }),
    ],
  })
  system.app.all(/^\/api\/auth\//, (req, res) => void toNodeHandler(auth)(req, res))
  const agent = new UserAgent(system.origin)
  const headers = { 'content-type': 'application/json', origin: system.origin }
  const body = JSON.stringify({ providerId: 'tollgate', callbackURL: '/home' })
  const start = await agent.request('/api/auth/sign-in/oauth2', { method: 'POST', headers, body })
  const { url } = JSON.parse(start.text) as { url: string }
  const end = await follow(agent, url, (to) => to.includes('/home') || to.includes('error'))
  assert.match(end as string, /\/home$/)
  const session = JSON.parse((await agent.request('/api/auth/get-session')).text) as { user: Record<string, unknown> }
  assert.deepEqual([session.user.name, session.user.email], ['Ada', 'ada@example.org'])
})
