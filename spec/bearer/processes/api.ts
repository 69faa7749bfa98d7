// An API in a process of its own, with what bearer checks share through Redis: started by child.ts, told by messages.
import type { AddressInfo } from 'node:net'
import express from 'express'
import {
  type DpopOptions,
  redisProofs,
  redisRevocations,
  type RedisRevocationsOptions,
  requireBearer,
  type Session,
  sessionOf,
} from '../../../lib'

export interface ApiConfig {
  readonly redis: string
  readonly issuer: string
  readonly audience: string
  readonly secret: string
  readonly revocations?: RedisRevocationsOptions
  readonly dpop?: DpopOptions
}

/** Who is revoked: a token by its id; a subject or a client, with all of its tokens so far. */
export interface Revoked {
  readonly kind: 'token' | 'subject' | 'client'
  readonly id: string
}

/** What the process is told. Moments are milliseconds of the machine's monotonic clock, one for all processes. */
export type Order = { readonly revoke: Revoked } | { readonly watch: readonly Revoked[] }

/** What it answers: when it began to revoke and whether Redis has it; or when it saw each revocation. */
export type Report =
  | { readonly id: string; readonly begunAt: number; readonly written: boolean }
  | { readonly seenAt: readonly (readonly [id: string, at: number])[] }

const { redis, issuer, audience, secret, revocations, dpop } = JSON.parse(process.argv[2] as string) as ApiConfig
const revocation = redisRevocations(redis, revocations)
const bearer = requireBearer({
  issuer,
  audience,
  secret,
  revocation,
  ...(dpop && { dpop: { ...dpop, proofs: redisProofs(redis) } }),
})
const app = express().use(bearer, (req, res) => void res.send(sessionOf(req).sub))
const server = app.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
server.keepAliveTimeout = 0

process.once('disconnect', () => process.exit()) // a killed spec leaves nothing behind

const now = () => Number(process.hrtime.bigint()) / 1e6
process.on('message', (order: Order) => void ('revoke' in order ? revoke(order.revoke) : watch(order.watch)))

async function revoke({ kind, id }: Revoked): Promise<void> {
  const begunAt = now()
  const writing = {
    token: () => revocation.revokeToken(issuer, id),
    subject: () => revocation.revokeSubject(issuer, id),
    client: () => revocation.revokeClient(issuer, id),
  }[kind]()
  const written = await writing.then(
    () => true,
    () => false,
  )
  process.send?.({ id, begunAt, written } satisfies Report)
}

async function watch(all: readonly Revoked[]): Promise<void> {
  const pending = new Map(all.map((one) => [one.id, recordedSession(one)]))
  const seenAt: [string, number][] = []
  while (pending.size > 0) {
    for (const [id, session] of pending) {
      if (revocation.state(session) !== 'revoked') continue
      seenAt.push([id, now()])
      pending.delete(id)
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  process.send?.({ seenAt } satisfies Report)
}

function recordedSession({ kind, id }: Revoked): Session {
  const claims = { iat: 1, ...(kind === 'token' && { jti: id }) }
  const sub = kind === 'subject' ? id : 'ada'
  const clientId = kind === 'client' ? id : 'app'
  return {
    kind: 'user',
    issuer,
    sub,
    userId: sub,
    clientId,
    scope: [],
    scopes: [],
    claims,
    token: '',
    signal: new AbortController().signal,
  }
}
