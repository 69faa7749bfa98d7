import type { Request, RequestHandler } from 'express'
import { rateLimit } from 'express-rate-limit'
import { type ThrottleOptions, budgetOf, redisStore, throttle } from 'express-tollgate'
import { Redis } from 'ioredis'
import { RedisStore } from 'rate-limit-redis'
import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible'
import { LIMIT_MS, LIMIT_REQUESTS, REFUSED_WINDOW_MS, WINDOW_MS } from '../loads'
import { type Contestant, type Setup, appWith, user } from './setup'

const USUAL = { limitMs: LIMIT_MS, windowMs: WINDOW_MS, subject: user } satisfies ThrottleOptions

export function tollgate(shared: boolean): Contestant {
  return ({ redisUrl }) => appWith(throttle({ ...USUAL, ...(shared && { store: redisStore(redisUrl) }) }))
}

/** Before a handler that takes so long: at most a millisecond of work, or a wait. */
export function tollgateBefore(handlerMs: number): Contestant {
  return ({ redisUrl }) => {
    const handler: RequestHandler = (_req, _res, next) => {
      if (handlerMs > 1) return void setTimeout(next, handlerMs)
      for (const end = performance.now() + handlerMs; performance.now() < end;);
      next()
    }
    return appWith(throttle({ ...USUAL, store: redisStore(redisUrl) }), handler)
  }
}

/** Everybody has spent everything. */
export function tollgateRefusing(shared: boolean): Contestant {
  return ({ redisUrl }) => {
    const spend: RequestHandler = (req, _res, next) => {
      budgetOf(req).charge(2)
      next()
    }
    const store = shared ? { store: redisStore(redisUrl) } : {}
    return appWith(throttle({ ...USUAL, ...store, limitMs: 1, windowMs: REFUSED_WINDOW_MS }), spend)
  }
}

export function expressRateLimit(shared: boolean, limit = LIMIT_REQUESTS, windowMs = WINDOW_MS): Contestant {
  return (setup) =>
    appWith(
      rateLimit({
        windowMs,
        limit,
        keyGenerator: user,
        standardHeaders: 'draft-8',
        legacyHeaders: false,
        ...(shared && { store: redisOf(setup) }),
      }),
    )
}

export function expressRateLimitRefusing(shared: boolean): Contestant {
  return expressRateLimit(shared, 1, REFUSED_WINDOW_MS)
}

function redisOf({ redisUrl }: Setup): RedisStore {
  const redis = new Redis(redisUrl)
  return new RedisStore({ sendCommand: (command, ...args) => redis.call(command, ...args) as Promise<number> })
}

/** As its own documentation puts it into Express, with the header fields that it names there. */
export function rateLimiterFlexible(shared: boolean, points = LIMIT_REQUESTS, windowMs = WINDOW_MS): Contestant {
  return ({ redisUrl }) => {
    const of = { points, duration: windowMs / 1_000 }
    const limiter = shared
      ? new RateLimiterRedis({ ...of, storeClient: new Redis(redisUrl) })
      : new RateLimiterMemory(of)
    return appWith((req: Request, res, next) => {
      const fields = (left: RateLimiterRes) => {
        res.setHeader('X-RateLimit-Limit', points)
        res.setHeader('X-RateLimit-Remaining', left.remainingPoints)
        res.setHeader('X-RateLimit-Reset', Math.ceil((Date.now() + left.msBeforeNext) / 1_000))
      }
      limiter.consume(user(req)).then(
        (left) => {
          fields(left)
          next()
        },
        (left: RateLimiterRes | Error) => {
          if (left instanceof Error) return next(left)
          fields(left)
          res.setHeader('Retry-After', Math.ceil(left.msBeforeNext / 1_000))
          res.status(429).send('Too Many Requests')
        },
      )
    })
  }
}
