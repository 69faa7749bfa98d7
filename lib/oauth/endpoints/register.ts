import type { Request, Response } from 'express'
import { findToken } from '../../bearer/credentials/credentials'
import { refuse } from '../../bearer/refusal/refusal'
import { hashOf, newId, newSecret, sameSecret } from '../../http/secret'
import { optionNames } from '../../http/options'
import { type ClientRegistration, registeredClient } from '../directories/client-directory'
import type { Client } from '../directories/client'
import { OAuthError } from '../oauth-error'
import { isOnDevice } from '../directories/redirect-uri'
import { type ClientMetadata, readClientMetadata } from '../parameters/client-metadata'
import { grantableScope } from '../parameters/requested-scope'
import { jsonOf } from '../parameters/form'
import { type RegisteredClient, RegisteredClients } from '../records/registered-clients'
import type { RegistrationGrant, RegistrationSettings } from '../registration-settings'
import type { ServerContext } from '../server-context'
import { accessRefused } from './access-token'
import { type Endpoint, sendJson } from './endpoint'
import { limitStrangers } from './limit-strangers'

const LIMIT = { windowMs: 3_600_000, refusal: 'Too many apps have been registered.' }
/** Attempts for each registration that an address may have. */
const TRIES = 10
/** The scopes of an app that registered none: the user's id only. */
const DEFAULT_SCOPES = ['openid']
const GRANTED = ['realm', 'scopes', 'audiences', 'onwardOrigins', 'requireDpop']

/** Client registration (RFC 7591 §3). */
export const registerEndpoint: Endpoint = { path: '/register', methods: { POST: register }, errors: 'json' }

/** Client configuration (RFC 7592 §2): reads, replaces and deletes a registration. */
export const registrationEndpoint: Endpoint = {
  path: '/register/:clientId',
  methods: { GET: read, PUT: replace, DELETE: remove },
  errors: 'json',
}

async function register(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  await limitTries(ctx, req)
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
  await limitRegistrations(ctx, req)
  await ctx.registered.save(registered)
  sendJson(res, 201, { ...describe(ctx, registered, token), ...(!isPublic && { client_secret: secret }) })
}

async function read(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  const { registered, token } = await ownRegistration(ctx, req)
  sendJson(res, 200, describe(ctx, registered, token))
}

async function replace(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  await limitTries(ctx, req)
  const { registered: before, token } = await ownRegistration(ctx, req)
  const { clientId, secretHash } = before.client
  const body = await jsonOf(req)
  if (body.client_id !== clientId) throw invalidMetadata('The client_id is another.')
  const { client_secret: secret } = body
  // RFC 7592 §2.2: a secret that is sent must be the one that was issued.
  const isOther = typeof secret !== 'string' || secretHash === undefined || !sameSecret(hashOf(secret), secretHash)
  if (secret !== undefined && secret !== null && isOther) throw invalidMetadata('The client_secret is another.')
  const metadata = readClientMetadata(body)
  if (metadata.token_endpoint_auth_method !== before.metadata.token_endpoint_auth_method) {
    throw invalidMetadata('The token_endpoint_auth_method cannot change: register anew.')
  }
  const registered = { ...before, metadata, client: await clientOf(ctx, req, clientId, metadata, secretHash) }
  if (!before.isUsed) await limitRegistrations(ctx, req) // else repeated updates would keep an unused app forever
  await ctx.registered.save(registered)
  sendJson(res, 200, describe(ctx, registered, token))
}

async function remove(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  const { clientId } = (await ownRegistration(ctx, req)).registered.client
  await ctx.revocations.revokeClient(clientId)
  await ctx.registered.remove(clientId)
  res.status(204).end()
}

/** @throws {OAuthError} 401 unless the request has the registration's own access token (RFC 7592 §2) */
async function ownRegistration(
  ctx: ServerContext,
  req: Request,
): Promise<{ registered: RegisteredClient; token: string }> {
  const found = findToken(req)
  if ('refused' in found) throw accessRefused(ctx, found)
  const registered = await ctx.registered.find(String(req.params.clientId))
  if (registered && sameSecret(hashOf(found.token), registered.tokenHash)) return { registered, token: found.token }
  throw accessRefused(ctx, refuse('signature'))
}

/** Registrations that are kept. */
function limitRegistrations(ctx: ServerContext, req: Request): Promise<void> {
  const { perAddress, perHour } = ctx.registration as RegistrationSettings
  return limitStrangers(ctx, req, { ...LIMIT, name: 'register', perAddress, inAll: perHour })
}

/** Counts every attempt. Failed ones do not use up the registrations of an address, and have a limit of their own. */
function limitTries(ctx: ServerContext, req: Request): Promise<void> {
  const { perAddress, perHour } = ctx.registration as RegistrationSettings
  const most = { perAddress: TRIES * perAddress, inAll: TRIES * perHour }
  return limitStrangers(ctx, req, { ...LIMIT, name: 'register-tries', ...most })
}

/** The app as the server knows it. */
async function clientOf(
  ctx: ServerContext,
  req: Request,
  clientId: string,
  metadata: ClientMetadata,
  secretHash: string | undefined,
): Promise<Client> {
  const granted = (await (ctx.registration as RegistrationSettings).accept(metadata, req)) as unknown
  if (granted === false || granted === undefined || granted === null) {
    throw new OAuthError('access_denied', 'This app may not register itself.', 403)
  }
  optionNames('what registration.accept returns', granted, GRANTED)
  const { requireDpop, ...grant } = granted as RegistrationGrant
  const registration: ClientRegistration = {
    realm: '/registered',
    ...grant,
    clientId,
    name: metadata.client_name,
    redirectUris: metadata.redirect_uris,
    postLogoutRedirectUris: metadata.post_logout_redirect_uris ?? [],
    grants: metadata.grant_types,
    identityScopes: metadata.scope?.split(' ').filter((scope) => ctx.identity.has(scope)) ?? DEFAULT_SCOPES,
    approval: 'ask',
    anyLocalhostPort: metadata.redirect_uris.every(isOnDevice),
    requirePushedRequests: metadata.require_pushed_authorization_requests ?? false,
    requireDpop: requireDpop ?? metadata.dpop_bound_access_tokens ?? false,
  }
  const client = registeredClient(registration, { anyPrivateScheme: true })
  return secretHash === undefined ? client : { ...client, secretHash }
}

/**
 * What the server registered (RFC 7591 §3.2.1, RFC 7592 §3). The secret is only in the first response: the server keeps
 * its hash.
 */
function describe(
  ctx: ServerContext,
  { client, metadata, issuedAtSec }: RegisteredClient,
  token: string,
): Record<string, unknown> {
  const { scope, ...others } = metadata
  const scopes = scope && grantableScope(scope.split(' '), ctx, client)
  return {
    client_id: client.clientId,
    client_id_issued_at: issuedAtSec,
    ...others,
    ...(scopes && { scope: scopes.join(' ') }),
    ...(client.secretHash !== undefined && { client_secret_expires_at: 0 }),
    registration_client_uri: `${ctx.issuer}/register/${client.clientId}`,
    registration_access_token: token,
  }
}

function invalidMetadata(message: string): OAuthError {
  return new OAuthError('invalid_client_metadata', message)
}
