// One of several processes of an authorization server over one Redis.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { type OAuthStore, authorizationServer, clientDirectory, redisOAuthStore } from '../../../lib/oauth'
import { CLIENTS, USERS } from '../support'

export interface Args {
  readonly redis: string
  readonly issuer: string
  readonly pem: string
  /** Claims by GET and then DEL, as a store must not. */
  readonly getThenDel: boolean
}

const { redis, issuer, pem, getThenDel } = JSON.parse(process.argv[2] as string) as Args
const shared = redisOAuthStore(redis)
const broken: OAuthStore = {
  ...shared,
  async claim(key) {
    const value = await shared.get(key)
    if (value === undefined) return undefined
    await sleep(2) // a network round trip to Redis
    await shared.claim(key, 0)
    return { value, first: true, agoMs: 0 }
  },
}
const server = authorizationServer({
  issuer,
  clients: clientDirectory(CLIENTS),
  users: USERS,
  store: getThenDel ? broken : shared,
  signingKeys: [{ key: pem }],
  onError: (err) => console.error(err),
})
const app = express().use(new URL(issuer).pathname, server)
const http = createServer({ keepAliveTimeout: 0 }, app) // as in attacked.ts
http.listen(0, '127.0.0.1', 4_096, () => console.log((http.address() as AddressInfo).port))
