import { createRequire } from 'node:module'
import type { RequestHandler } from 'express'
import { expressjwt } from 'express-jwt'
import { allowUnauthenticated, redisStore, requireBearer, throttle } from 'express-tollgate'
import { createVerifier } from 'fast-jwt'
import { expressJwtSecret } from 'jwks-rsa'
import { COLD_CACHE_BYTES, LIMIT_MS, WINDOW_MS } from '../loads'
import { type Contestant, type Setup, appWith } from './setup'

/** Not imported: its types say of all requests what its own middleware alone makes true. */
const { auth } = createRequire(__filename)('express-oauth2-jwt-bearer') as {
  auth: (options: Record<'issuer' | 'audience' | 'jwksUri' | 'tokenSigningAlg', string>) => RequestHandler
}

export const tollgateBearer: Contestant = (setup) => appWith(bearer(setup))

/** Its cache has forgotten each token before it comes again. */
export const tollgateBearerCold: Contestant = (setup) => appWith(bearer(setup, COLD_CACHE_BYTES))

/** All three middlewares, the throttle on Redis. */
export const tollgateTogether: Contestant = (setup) =>
  appWith(
    allowUnauthenticated({ paths: ['/platform/places', '/platform/dates'] }),
    bearer(setup),
    throttle({ limitMs: LIMIT_MS, windowMs: WINDOW_MS, store: redisStore(setup.redisUrl) }),
  )

function bearer({ issuer, audience, publicPem }: Setup, cacheBytes?: number) {
  return requireBearer({ issuer, audience, key: publicPem, algorithms: ['RS256'], cacheBytes })
}

export const expressOauth2JwtBearer: Contestant = ({ issuer, audience, jwksUri }) =>
  appWith(auth({ issuer, audience, jwksUri, tokenSigningAlg: 'RS256' }))

export const expressJwt: Contestant = ({ issuer, audience, jwksUri }) =>
  appWith(expressjwt({ secret: expressJwtSecret({ jwksUri, cache: true }), issuer, audience, algorithms: ['RS256'] }))

export const fastJwt: Contestant = ({ issuer, audience, publicPem }) => {
  const check = createVerifier({
    key: publicPem,
    algorithms: ['RS256'],
    cache: 5_000,
    allowedIss: issuer,
    allowedAud: audience,
  })
  return appWith((req, res, next) => {
    const [scheme, token] = (req.headers.authorization ?? '').split(' ')
    if (scheme !== 'Bearer' || token === undefined) return void res.status(401).end()
    try {
      Object.assign(req, { auth: check(token) })
    } catch {
      return void res.status(401).end()
    }
    next()
  })
}
