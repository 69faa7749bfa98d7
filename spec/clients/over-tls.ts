import { once } from 'node:events'
import { type Server, createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { RequestHandler } from 'express'
import type { AuthorizationServerOptions, ClientRegistration } from '../../lib/oauth'
import { closed } from '../oauth/support'
import { CERT, KEY } from '../support/tls'
import { type LoginSystem, startLoginSystem } from './today'

/** A login system in the dialect `standard` under `https://localhost`, for libraries that take no other issuer. */
export async function startOverTls(
  app: (home: string) => Partial<ClientRegistration>,
  options: Partial<AuthorizationServerOptions> = {},
  first?: RequestHandler,
): Promise<LoginSystem & { readonly home: string }> {
  const https: Server = createServer({ cert: CERT, key: KEY }).listen(0, '127.0.0.1')
  await once(https, 'listening')
  const home = `https://localhost:${(https.address() as AddressInfo).port}`
  const system = await startLoginSystem(
    () => app(home),
    { dialect: 'standard', issuer: `${home}/oauth`, ...options },
    first,
  )
  https.on('request', system.app)
  const close = async () => {
    await system.close()
    await closed(https)
  }
  return { ...system, home, close }
}
