import { type RunningDemo, startDemo } from '../../demo/spec/running'
import { CLIENT_KEYS } from '../oauth/support'

/** The demo, and an app to log in to, known to it as clients of every kind are. */
export async function startSystem(tokenType?: string): Promise<RunningDemo & { readonly callback: string }> {
  const callbackOf = (origin: string) => `http://localhost:${new URL(origin).port}/cb`
  const demo = await startDemo({
    dialect: 'familysearch',
    ...(tokenType !== undefined && { tokenType }),
    apps: (origin) => {
      const redirectUris = [callbackOf(origin)]
      return [
        { clientId: 'a02j000000JBxOxAAL', name: 'Public', realm: '/p', requirePkce: false, redirectUris },
        {
          clientId: 'confidential',
          name: 'Confidential',
          realm: '/c',
          secret: 'a secret + more/%',
          redirectUris,
          postLogoutRedirectUris: redirectUris,
          grants: ['authorization_code', 'refresh_token', 'client_credentials', 'unauthenticated_session'],
          scopes: ['tree.read'],
        },
        {
          clientId: 'no-pkce',
          name: 'Without PKCE',
          realm: '/n',
          secret: 'a secret + more/%',
          requirePkce: false,
          redirectUris,
        },
        { clientId: 'service', name: 'Service', grants: ['client_credentials'], publicKeys: [CLIENT_KEYS.publicKey] },
      ]
    },
  })
  return { ...demo, callback: callbackOf(demo.origin) }
}
