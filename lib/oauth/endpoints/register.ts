import type { Request, Response } from 'express'
import { findToken } from '../../bearer/credentials/credentials'
import { refuse } from '../../bearer/refusal/refusal'
import { hashOf, newId, newSecret, sameSecret } from '../../http/secret'
import { clientDirectory } from '../directories/client-directory'
import type { Client } from '../directories/client'
import { OAuthError } from '../oauth-error'
import { type ClientMetadata, hostOf, readClientMetadata } from '../parameters/client-metadata'
import { jsonOf } from '../parameters/form'
import { type RegisteredClient, RegisteredClients } from '../records/registered-clients'
import type { RegistrationSettings } from '../registration-settings'
import type { ServerContext } from '../server-context'
import { accessRefused } from './access-token'
import { type Endpoint, sendJson } from './endpoint'
import { limitStrangers } from './limit-strangers'

const HOUR_MS = 3_600_000

/** Client registration (RFC 7591 §3). */
export const registerEndpoint: Endpoint = { path: '/register', methods: { POST: register }, errors: 'json' }

/** Client configuration (RFC 7592 §2): reads, replaces and deletes a registration. */
export const registrationEndpoint: Endpoint = {
  path: '/register/:clientId',
  methods: { GET: read, PUT: replace, DELETE: remove },
  errors: 'json',
}

async function register(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  await limit(ctx, req)
  const metadata = readClientMetadata(await jsonOf(req))
  const [secret, token] = [newSecret(), newSecret()]
  const isPublic = metadata.token_endpoint_auth_method === 'none'
  const clientId = RegisteredClients.clientIdOf(newId())
  const registered: RegisteredClient = {
    client: await clientOf(ctx, req, clientId, metadata, isPublic ? undefined : hashOf(secret)),
    metadata,
    tokenHash: hashOf(token),
    issuedAtSec: Math.floor(ctx.clock.date() / 1_000),
  }
  await ctx.registered.save(registered)
  const body = describe(ctx, registered)
  sendJson(res, 201, {
    ...body,
    ...(!isPublic && { client_secret: secret, client_secret_expires_at: 0 }),
    registration_access_token: token,
  })
}

async function read(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  sendJson(res, 200, describe(ctx, await ownRegistration(ctx, req)))
}

async function replace(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  const before = await ownRegistration(ctx, req)
  if (!before.isUsed) await limit(ctx, req) // or whoever registered it could keep it for ever
  const { clientId, secretHash } = before.client
  const body = await jsonOf(req)
  if (body.client_id !== clientId) throw new OAuthError('invalid_client_metadata', 'The client_id is another.')
  const metadata = readClientMetadata(body)
  if (metadata.token_endpoint_auth_method !== before.metadata.token_endpoint_auth_method) {
    throw new OAuthError('invalid_client_metadata', 'The token_endpoint_auth_method cannot change: register anew.')
  }
  const registered = { ...before, metadata, client: await clientOf(ctx, req, clientId, metadata, secretHash) }
  await ctx.registered.save(registered)
  sendJson(res, 200, describe(ctx, registered))
}

async function remove(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  const { client } = await ownRegistration(ctx, req)
  await ctx.registered.remove(client.clientId)
  res.status(204).end()
}

/** @throws {OAuthError} 401 unless the request has the registration's own access token (RFC 7592 §2) */
async function ownRegistration(ctx: ServerContext, req: Request): Promise<RegisteredClient> {
  const found = findToken(req.rawHeaders)
  if ('refused' in found) throw accessRefused(ctx, found)
  const registered = await ctx.registered.find(String(req.params.clientId))
  if (registered && sameSecret(hashOf(found.token), registered.tokenHash)) return registered
  throw accessRefused(ctx, refuse('signature'))
}

function limit(ctx: ServerContext, req: Request): Promise<void> {
  const { perAddress, perHour } = ctx.registration as RegistrationSettings
  const limits = { name: 'register', perAddress, inAll: perHour, windowMs: HOUR_MS }
  return limitStrangers(ctx, req, { ...limits, refusal: 'Too many apps have been registered.' })
}

/** The app as the server knows it. Its name says its host, too: users see no name that is all its own choice. */
async function clientOf(
  ctx: ServerContext,
  req: Request,
  clientId: string,
  metadata: ClientMetadata,
  secretHash: string | undefined,
): Promise<Client> {
  const granted = await (ctx.registration as RegistrationSettings).accept(metadata, req)
  if (granted === false) throw new OAuthError('access_denied', 'This app may not register itself.', 403)
  const host = hostOf(metadata.redirect_uris[0] as string)
  const directory = clientDirectory([
    {
      realm: '/registered',
      ...granted,
      clientId,
      name: metadata.client_name === host ? host : `${metadata.client_name} (${host})`,
      redirectUris: metadata.redirect_uris,
      postLogoutRedirectUris: metadata.post_logout_redirect_uris ?? [],
      grants: metadata.grant_types,
      requirePushedRequests: metadata.require_pushed_authorization_requests ?? false,
      requireDpop: granted.requireDpop ?? metadata.dpop_bound_access_tokens ?? false,
    },
  ])
  const client = (await directory.findClient(clientId)) as Client
  return secretHash === undefined ? client : { ...client, secretHash }
}

/** What the server registered (RFC 7591 §3.2.1). */
function describe(ctx: ServerContext, { client, metadata, issuedAtSec }: RegisteredClient): Record<string, unknown> {
  const { scope, ...others } = metadata
  const scopes = scope?.split(' ').filter((one) => ctx.identity.has(one) || client.scopes?.includes(one))
  return {
    client_id: client.clientId,
    client_id_issued_at: issuedAtSec,
    ...others,
    ...(scopes && { scope: scopes.join(' ') }),
    registration_client_uri: `${ctx.issuer}/register/${client.clientId}`,
  }
}
