// One of several processes of an authorization server over one Redis.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { authorizationServer, clientDirectory, redisOAuthStore } from '../../../lib/oauth'
import { CLIENTS, USERS } from '../support'

export interface Args {
  readonly redis: string
  readonly issuer: string
  readonly pem: string
}

const { redis, issuer, pem } = JSON.parse(process.argv[2] as string) as Args
const server = authorizationServer({
  issuer,
  clients: clientDirectory(CLIENTS),
  users: USERS,
  store: redisOAuthStore(redis),
  signingKeys: [{ key: pem }],
  onError: (err) => console.error(err),
})
const app = express().use(new URL(issuer).pathname, server)
const http = createServer({ keepAliveTimeout: 0 }, app) // or a client now and then asks over a connection that is just being closed
http.listen(0, '127.0.0.1', 4_096, () => console.log((http.address() as AddressInfo).port))
