// An API in a process of its own, with what bearer checks share through Redis: started by child.ts, told by messages.
import type { AddressInfo } from 'node:net'
import express from 'express'
import {
  type DpopOptions,
  redisProofs,
  redisRevocations,
  type RedisRevocationsOptions,
  requireBearer,
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

/** What the process answers: whether Redis has the revocation. */
export interface Report {
  readonly id: string
  readonly written: boolean
}

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

process.on('message', (revoked: Revoked) => void revoke(revoked))

async function revoke({ kind, id }: Revoked): Promise<void> {
  const writing = {
    token: () => revocation.revokeToken(issuer, id),
    subject: () => revocation.revokeSubject(issuer, id),
    client: () => revocation.revokeClient(issuer, id),
  }[kind]()
  const written = await writing.then(
    () => true,
    () => false,
  )
  process.send?.({ id, written } satisfies Report)
}
