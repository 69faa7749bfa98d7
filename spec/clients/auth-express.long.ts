import assert from 'node:assert/strict'
import { it } from 'node:test'
import { UserAgent } from '../oauth/user-agent'
import { SECRET, follow, startLoginSystem } from './today'

it('@auth/express logs a user in by discovery, with PKCE, state and the id_token', async (t) => {
  const { ExpressAuth } = await import('@auth/express')
  const system = await startLoginSystem((origin) => ({
    secret: SECRET,
    redirectUris: [`${origin}/auth/callback/tollgate`],
  }))
  t.after(() => system.close())
  system.app.set('trust proxy', true)
  system.mount(
    '/auth',
    ExpressAuth({
      secret: 'a secret of its own for its cookies',
      trustHost: true,
      providers: [
        {
          id: 'tollgate',
          name: 'Tollgate',
          type: 'oidc',
          issuer: system.issuer,
          clientId: 'app',
          clientSecret: SECRET,
          checks: ['pkce', 'state', 'nonce'],
          authorization: { params: { scope: 'openid profile email' } },
          profile: (profile: Record<string, string>) => ({ id: profile.sub as string, name: profile.given_name ?? '' }),
        },
      ],
    }),
  )
  const agent = new UserAgent(system.origin)
  const { csrfToken } = JSON.parse((await agent.request('/auth/csrf')).text) as { csrfToken: string }
  const body = new URLSearchParams({ csrfToken, callbackUrl: `${system.origin}/home` })
  const start = await agent.request('/auth/signin/tollgate', { method: 'POST', body })
  const end = await follow(agent, start.location ?? '', (to) => to.endsWith('/home') || to.includes('error'))
  assert.equal(end, `${system.origin}/home`)
  const session = JSON.parse((await agent.request('/auth/session')).text) as { user?: { name: string } }
  assert.equal(session.user?.name, 'Ada')
})
