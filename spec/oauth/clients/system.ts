import express from 'express'
import { allowUnauthenticated, requireBearer } from '../../../lib'
import { clientDirectory } from '../../../lib/oauth'
import { CLIENT_KEYS, type RunningServer, startServer } from '../support'

/** The authorization server with the API that its tokens are for, as the service has them, and an app to log in to. */
export async function startSystem(tokenType = 'family_search'): Promise<RunningServer & { readonly callback: string }> {
  let callback = 'https://not-yet.test/'
  const apps = () =>
    clientDirectory([
      { clientId: 'a02j000000JBxOxAAL', name: 'Public', realm: '/p', requirePkce: false, redirectUris: [callback] },
      {
        clientId: 'confidential',
        name: 'Confidential',
        realm: '/c',
        secret: 'a secret + more/%',
        redirectUris: [callback],
        postLogoutRedirectUris: [callback],
        grants: ['authorization_code', 'refresh_token', 'client_credentials', 'unauthenticated_session'],
        scopes: ['tree.read'],
      },
      {
        clientId: 'no-pkce',
        name: 'Without PKCE',
        realm: '/n',
        secret: 'a secret + more/%',
        requirePkce: false,
        redirectUris: [callback],
      },
      { clientId: 'service', name: 'Service', grants: ['client_credentials'], publicKeys: [CLIENT_KEYS.publicKey] },
    ])
  let directory = apps()
  const running = await startServer({ tokenType, clients: { findClient: (id) => directory.findClient(id) } })
  callback = `http://localhost:${new URL(running.origin).port}/cb`
  directory = apps()

  const { app, issuer } = running
  const platform = express.Router()
  platform.use(allowUnauthenticated({ paths: ['/platform/places'] }), requireBearer({ issuer, audience: issuer }))
  platform.get('/users/current', (req, res) => {
    res.json({ users: [{ id: req.auth?.kind === 'user' ? req.auth.userId : null }] })
  })
  platform.get('/places', (req, res) => void res.json({ kind: req.auth?.kind }))
  app.use('/platform', platform)
  return { ...running, callback }
}
