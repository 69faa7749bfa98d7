import cors from 'cors'
import express, { type Express, Router } from 'express'
import {
  type Dialect,
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
import { type ConsoleTerms, consolePages } from './console'
import { familyApp } from './family-app'
import { mcp } from './mcp'
import { operators } from './operators'
import { resources } from './resources'
import { ISSUER_PATH, signInServer, users } from './sign-in-server'

/** Settings of the demo, for specs and the environment. */
export interface DemoOptions {
  /** Origin of the demo: `http://127.0.0.1:3000`. */
  readonly origin: string
  /** Processing time of each user per window, in milliseconds. Default 18,000. */
  readonly limitMs?: number
  /** Length of the window, in milliseconds. Default 60,000. */
  readonly windowMs?: number
  /** Limit and window of searches, in milliseconds. Default: 9,000 in 20,000. */
  readonly searches?: ConsoleTerms
  /** Duration of a search, in milliseconds. */
  readonly searchMs?: number
  /** Store for windows that processes share. Default: this process's memory. */
  readonly store?: ThrottleStore
  /** The Redis of that store, for the dashboard. */
  readonly redis?: string
  /** Store of the authorization server, shared by processes. Default: this process's memory. */
  readonly tokenStore?: OAuthStore
  /** Shared signing key (PEM). Default: a key of this process. */
  readonly signingKey?: string
  /** Formats on the wire. Default `standard`; `familysearch` is the service's own, with errors in XML. */
  readonly dialect?: Dialect
  /** Whether a proxy on this machine is in front. */
  readonly isBehindProxy?: boolean
  /** Additional apps. */
  readonly apps?: readonly ClientRegistration[]
  /** `token_type` without the scope `openid`. Default: the dialect's. */
  readonly tokenType?: string
}

/** The whole system. Close it with its server. */
export interface Demo {
  readonly app: Express
  readonly server: AuthorizationServer
  /** Ends the dashboard's streams, which would keep the server open. */
  readonly end: () => void
  readonly close: () => Promise<void>
}

/** A small genealogy API and its sign-in server, in the order in which a request passes them. */
export function demo(options: DemoOptions): Demo {
  const { origin, dialect = 'standard', limitMs = 18_000, windowMs = 60_000 } = options
  const { searches = { limitMs: 9_000, windowMs: 20_000 }, searchMs, store, redis, isBehindProxy, ...tokens } = options
  const { server, router, throttled: tokensThrottled } = signInServer(origin, tokens)
  const issuer = origin + ISSUER_PATH
  const throttled = throttle({
    limitMs,
    windowMs,
    routes: { '/platform/tree/search': searches },
    headers: { rateLimit: true }, // the console counts down to the window's end
    ...(store && { store }),
  })

  const admin = operators(origin, '/admin/throttle')
  const dashboard = throttleDashboard(throttled, {
    guard: admin.guard,
    label: displayName,
    title: 'the express-tollgate demo',
    ...(redis && { redis }),
  })

  const platform = Router()
  const open = ['/platform/places', '/platform/dates']
  open.push('/platform/tree/search', '/platform/throttled') // for the console, before anybody signs in
  platform.use(allowUnauthenticated({ paths: open, methods: ['GET', 'HEAD'] }))
  platform.use(requireBearer({ issuer, audience: issuer, verify: server.verify })) // a revoked token ends at once
  platform.use(throttled)
  platform.get('/throttled', throttleTest())
  platform.use(resources(searchMs))

  const app = express().disable('x-powered-by').set('tollgate dialect', dialect)
  if (isBehindProxy) app.set('trust proxy', 'loopback')
  app.use(cors(browsers))
  app.use(processingTime())
  app.use(router)
  app.use(mcp(origin, issuer, server, throttled))
  app.use(familyApp(origin))
  app.use(consolePages({ limitMs, windowMs }, searches))
  app.use(admin.router)
  app.use('/admin/throttle', dashboard)
  app.get('/platform/status', (_req, res) => void res.json({ status: 'up' })) // open, and not throttled
  app.use('/platform', inServiceDialect(platform), platform)
  app.use(serviceUnavailable())
  return {
    app,
    server,
    end: () => void dashboard.close(),
    close: async () => {
      await Promise.all([dashboard.close(), throttled.close(), tokensThrottled.close()])
    },
  }
}

/** The API once more, for requests with `?dialect=familysearch`: same sessions, same windows, errors in XML. */
function inServiceDialect(api: Router): Express {
  const app = express().disable('x-powered-by').set('tollgate dialect', 'familysearch')
  app.use((req, _res, next) => next(req.query.dialect === 'familysearch' ? undefined : 'router'))
  app.use(api)
  return app
}

/** Display name of a subject on the dashboard: a user's sign-in name, a client's ID, or an address as it is. */
function displayName(subject: string): string | undefined {
  if (subject.startsWith('address:')) return subject
  const id = subject.split(':').pop()
  return users.find((user) => user.id === id)?.username ?? id
}
