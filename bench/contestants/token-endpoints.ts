import { createHash, createPrivateKey, generateKeyPairSync, randomUUID } from 'node:crypto'
import OAuth2Server from '@node-oauth/oauth2-server'
import express from 'express'
import { authorizationServer, clientDirectory, userDirectory } from 'express-tollgate/oauth'
import { sign as signJwt } from 'jsonwebtoken'
import type { Contestant, Setup } from './setup'
import { CLIENT, SECRET } from '../loads'

export const tollgateTokens: Contestant = (setup) => tokensSignedBy({ key: setup.privatePem }, setup)

/** The same with a key of its own on a curve. */
export const tollgateTokensES256: Contestant = (setup) => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return tokensSignedBy({ key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString() }, setup)
}

function tokensSignedBy(signingKey: { readonly key: string }, { issuer, audience }: Setup) {
  const app = express()
  const client = { clientId: CLIENT, name: 'Bench', secret: SECRET, grants: ['client_credentials' as const] }
  app.use(
    authorizationServer({
      issuer,
      clients: clientDirectory([client]),
      users: userDirectory([]),
      signingKeys: [signingKey],
      accessTokens: { format: 'jwt', audience },
    }),
  )
  return app
}

/** Signs a JWT too, by a resource server that wants one (RFC 8707). */
export const oidcProvider: Contestant = async ({ issuer, audience, privatePem }) => {
  const { default: Provider } = await import('oidc-provider')
  const jwk = { ...createPrivateKey(privatePem).export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'bench' }
  const resource = { scope: '', audience, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }
  const provider = new Provider(issuer, {
    jwks: { keys: [jwk] },
    clients: [
      {
        client_id: CLIENT,
        client_secret: SECRET,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
    ],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        useGrantedResource: () => true,
        getResourceServerInfo: () => resource,
      },
    },
  })
  return provider.callback()
}

/** It has no tokens of its own: its model signs them, as its users do, by jsonwebtoken and a key read once. */
export const nodeOauth2Server: Contestant = ({ issuer, audience, privatePem }) => {
  const key = createPrivateKey(privatePem)
  const hash = createHash('sha256').update(SECRET).digest('hex')
  const claims = () => {
    const random = randomUUID()
    return { algorithm: 'RS256' as const, issuer, audience, subject: CLIENT, expiresIn: 3_600, jwtid: random }
  }
  const server = new OAuth2Server({
    model: {
      getClient: (id: string, secret: string) => {
        const known = id === CLIENT && createHash('sha256').update(secret).digest('hex') === hash
        return Promise.resolve(known && { id, grants: ['client_credentials'] })
      },
      getUserFromClient: () => Promise.resolve({ id: CLIENT }),
      generateAccessToken: () => Promise.resolve(signJwt({ client_id: CLIENT }, key, claims())),
      saveToken: (token, client, user) => Promise.resolve({ ...token, client, user }),
    },
  })
  const app = express()
  app.use(express.urlencoded({ extended: false }))
  app.post('/token', (req, res, next) => {
    const answer = new OAuth2Server.Response(res)
    server.token(new OAuth2Server.Request(req), answer).then(
      () =>
        void res
          .set(answer.headers)
          .status(answer.status ?? 200)
          .json(answer.body),
      next,
    )
  })
  return app
}
