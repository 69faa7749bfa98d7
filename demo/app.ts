import cors from 'cors'
import express, { type Express } from 'express'
import {
  type Throttle,
  type ThrottleStore,
  allowUnauthenticated,
  processingTime,
  requireBearer,
  serviceUnavailable,
  throttle,
  throttleTest,
} from 'express-tollgate'
import type { DevIssuer } from 'express-tollgate/testing'
import { browsers } from './browsers'
import { resources } from './resources'

/** What may be otherwise in a spec, or by the environment. */
export interface DemoOptions {
  /** Who signs the tokens. */
  readonly issuer: DevIssuer
  /** Processing time of each user per window. Default 18,000. */
  readonly limitMs?: number
  /** The window's length. Default 60,000. */
  readonly windowMs?: number
  /** How long a search takes. */
  readonly searchMs?: number
  /** Where processes share their windows. Default: this process's memory. */
  readonly store?: ThrottleStore
}

/** The API, and its throttle to be closed with the server. */
export interface Demo {
  readonly app: Express
  readonly throttled: Throttle
}

/** A small genealogy API, with the middleware in the order in which a request meets it. */
export function demo({ issuer, limitMs = 18_000, windowMs = 60_000, searchMs, store }: DemoOptions): Demo {
  const app = express()
  const throttled = throttle({
    limitMs,
    windowMs,
    routes: { '/platform/tree/search': { limitMs: 5_000, windowMs: 10_000 } },
    ...(store && { store }),
  })
  app.use(cors(browsers))
  app.use(processingTime())
  app.get('/platform/status', (_req, res) => void res.json({ status: 'up' })) // open, and not throttled
  app.use(allowUnauthenticated({ paths: ['/platform/places', '/platform/dates'], methods: ['GET', 'HEAD'] }))
  app.use(requireBearer(issuer.options))
  app.use(throttled)
  app.get('/platform/throttled', throttleTest())
  app.use('/platform', resources(searchMs))
  app.use(serviceUnavailable())
  return { app, throttled }
}
