import cors from 'cors'
import express, { type Express, Router } from 'express'
import {
  type ThrottleStore,
  allowUnauthenticated,
  processingTime,
  requireBearer,
  serviceUnavailable,
  throttle,
  throttleTest,
} from 'express-tollgate'
import { throttleDashboard } from 'express-tollgate/dashboard'
import type { AuthorizationServer, ClientRegistration, OAuthStore } from 'express-tollgate/oauth'
import { browsers } from './browsers'
import { consolePages } from './console'
import { familyApp } from './family-app'
import { mcp } from './mcp'
import { operators } from './operators'
import { resources } from './resources'
import { ISSUER_PATH, signInServer, users } from './sign-in-server'

/** What may be otherwise in a spec, or by the environment. */
export interface DemoOptions {
  /** Where the demo listens: `http://127.0.0.1:3000`. */
  readonly origin: string
  /** Processing time of each user per window. Default 18,000. */
  readonly limitMs?: number
  /** The window's length. Default 60,000. */
  readonly windowMs?: number
  /** How long a search takes. */
  readonly searchMs?: number
  /** Where processes share their windows. Default: this process's memory. */
  readonly store?: ThrottleStore
  /** The Redis of that store, for the dashboard. */
  readonly redis?: string
  /** Where processes share what the authorization server keeps. Default: this process's memory. */
  readonly tokenStore?: OAuthStore
  /** PEM of the key that processes share. Default: a key of this process. */
  readonly signingKey?: string
  /** A proxy of this machine stands before it, and says who asks. */
  readonly isBehindProxy?: boolean
  /** Apps beside the demo's own. */
  readonly apps?: readonly ClientRegistration[]
  /** What `token_type` says where no `openid` was asked for. Default `family_search`. */
  readonly tokenType?: string
}

/** The whole system, to be closed with its server. */
export interface Demo {
  readonly app: Express
  readonly server: AuthorizationServer
  /** Ends the dashboard's streams, which would keep the server open. */
  readonly end: () => void
  readonly close: () => Promise<void>
}

/** A small genealogy API and the server that its users sign in to, in the order in which a request meets them. */
export function demo(options: DemoOptions): Demo {
  const { origin, limitMs = 18_000, windowMs = 60_000, searchMs, store, redis, isBehindProxy, ...tokens } = options
  const { server, router, throttled: tokensThrottled } = signInServer(origin, tokens)
  const issuer = origin + ISSUER_PATH
  const throttled = throttle({
    limitMs,
    windowMs,
    routes: { '/platform/tree/search': { limitMs: 5_000, windowMs: 10_000 } },
    headers: { rateLimit: true }, // the console counts down to the window's end
    ...(store && { store }),
  })

  const admin = operators(origin, '/admin/throttle')
  const dashboard = throttleDashboard(throttled, { guard: admin.guard, names: usernameOf, ...(redis && { redis }) })

  const platform = Router()
  platform.use(allowUnauthenticated({ paths: ['/platform/places', '/platform/dates'], methods: ['GET', 'HEAD'] }))
  platform.use(requireBearer({ issuer, audience: issuer, verify: server.verify })) // a revoked token ends at once
  platform.use(throttled)
  platform.get('/throttled', throttleTest())
  platform.use(resources(searchMs))

  const app = express().disable('x-powered-by')
  if (isBehindProxy) app.set('trust proxy', 'loopback')
  app.use(cors(browsers))
  app.use(processingTime())
  app.use(router)
  app.use(mcp(origin, issuer, server, throttled))
  app.use(familyApp(origin))
  app.use(consolePages())
  app.use(admin.router)
  app.use('/admin/throttle', dashboard)
  app.get('/platform/status', (_req, res) => void res.json({ status: 'up' })) // open, and not throttled
  app.use('/platform', platform)
  app.use(serviceUnavailable())
  return {
    app,
    server,
    end: () => dashboard.close(),
    close: async () => {
      dashboard.close()
      await Promise.all([throttled.close(), tokensThrottled.close()])
    },
  }
}

/** What the dashboard calls a subject: a user by the name that she signs in with, all others by their subject. */
function usernameOf(subject: string): string {
  return users.find(({ id }) => subject.startsWith('user:') && subject.endsWith(`:${id}`))?.username ?? subject
}
