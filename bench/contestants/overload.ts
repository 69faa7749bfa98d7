import { setTimeout as sleep } from 'node:timers/promises'
import type { Request, RequestHandler, Response } from 'express'
import express from 'express'
import { throttle } from 'express-tollgate'
import toobusy from 'toobusy-js'
import { BLOCKING_MS, HEAVY_LIMIT_MS, POOLED_MS, POOL_SIZE, type Work } from '../overload-load'
import { type Contestant, user } from './setup'

const never = new Int32Array(new SharedArrayBuffer(4))

/** Blocks the event loop, as a synchronous read does: it takes as long however busy the machine is otherwise. */
const block: RequestHandler = (_req, res) => {
  Atomics.wait(never, 0, 0, BLOCKING_MS)
  res.end()
}

/** Connections to a database, say: who finds none waits for one, first come, first served. */
const waiting: (() => void)[] = []
let free = POOL_SIZE

async function waitOnPool(_req: Request, res: Response): Promise<void> {
  if (free > 0) free--
  else await new Promise<void>((resolve) => waiting.push(resolve))
  await sleep(POOLED_MS)
  const next = waiting.shift()
  if (next === undefined) free++
  else next()
  res.end()
}

function appFor(work: Work, ...handlers: readonly RequestHandler[]): Contestant {
  return () => express().use(...handlers, work === 'blocking' ? block : waitOnPool)
}

export const bareAtWork = (work: Work) => appFor(work, (_req, _res, next) => next())

/** As its own documentation puts it into Express. */
export function toobusyAtWork(work: Work): Contestant {
  return appFor(work, (_req, res, next) => {
    if (toobusy()) res.status(503).send("I'm busy right now, sorry.")
    else next()
  })
}

export function tollgateAtWork(work: Work, isAsked: boolean): Contestant {
  const isOverloaded = () => waiting.length > POOL_SIZE
  const overload = isAsked ? { isOverloaded } : true
  return appFor(work, throttle({ subject: user, limitMs: HEAVY_LIMIT_MS[work], overload }))
}
