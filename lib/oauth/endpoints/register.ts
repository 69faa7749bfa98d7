import type { Request, Response } from 'express'
import { findToken, isToken } from '../../bearer/credentials/credentials'
import { refuse } from '../../bearer/refusal/refusal'
import { hashOf, newId, newSecret, sameSecret } from '../../http/secret'
import { selfRegisteredClient } from '../clients/self-registered-client'
import { OAuthError } from '../oauth-error'
import { type ClientMetadata, invalidMetadata, readClientMetadata } from '../parameters/client-metadata'
import { jsonOf } from '../parameters/form'
import { grantableScope } from '../parameters/requested-scope'
import type { Parts } from '../parts'
import { type RegisteredClient, RegisteredClients } from '../records/registered-clients'
import { ofStranger } from '../records/owners'
import { limitStrangers } from '../records/strangers'
import type { RegistrationSettings } from '../server-settings'
import { type Endpoint, sendJson } from './endpoint'
import { accessRefused } from './resource'

const LIMITS = { name: 'register', windowMs: 3_600_000, refusal: 'Too many apps have been registered.' }

/** Client registration (RFC 7591 §3), and configuration (RFC 7592 §2): reads, replaces and deletes a registration. */
export function registrationEndpoints(parts: Parts, registration: RegistrationSettings): readonly Endpoint[] {
  const { clock, identity, issuer, records, registered: clients } = parts
  return [
    { path: '/register', methods: { POST: register }, errors: 'json', anyOrigin: true },
    {
      path: '/register/:clientId',
      methods: { GET: read, PUT: replace, DELETE: remove },
      errors: 'json',
      anyOrigin: true,
    },
  ]

  async function register(req: Request, res: Response): Promise<void> {
    const sent = await jsonOf(req)
    const metadata = readClientMetadata(sent, registration.uris)
    const [secret, token] = [newSecret(), newSecret()]
    const hasSecret = metadata.token_endpoint_auth_method.startsWith('client_secret')
    const clientId = RegisteredClients.clientIdOf(newId())
    const fresh: RegisteredClient = {
      owner: ofStranger(),
      client: await clientOf(req, clientId, { ...metadata, sent }, hasSecret ? hashOf(secret) : undefined),
      metadata,
      tokenHash: hashOf(token),
      issuedAtSec: Math.floor(clock.date() / 1_000),
    }
    await limitRegistrations(req)
    await clients.save(fresh)
    sendJson(res, 201, { ...describe(fresh, token), ...(hasSecret && { client_secret: secret }) })
  }

  async function read(req: Request, res: Response): Promise<void> {
    const { registered, token } = await ownRegistration(req)
    sendJson(res, 200, describe(registered, token))
  }

  async function replace(req: Request, res: Response): Promise<void> {
    const body = await jsonOf(req) // first: a sender may hold it back for as long as it likes
    const { registered: before, token } = await ownRegistration(req)
    const { clientId, secretHash } = before.client
    if (body.client_id !== clientId) throw invalidMetadata('The client_id is another.')
    const { client_secret: secret } = body
    // RFC 7592 §2.2: a secret that is sent must be the one that was issued.
    const known = [secretHash ?? []].flat()
    const isOurs = typeof secret === 'string' && known.some((hash) => sameSecret(hashOf(secret), hash))
    if (secret !== undefined && secret !== null && !isOurs) throw invalidMetadata('The client_secret is another.')
    const metadata = readClientMetadata(body, registration.uris)
    if (metadata.token_endpoint_auth_method !== before.metadata.token_endpoint_auth_method) {
      throw invalidMetadata('The token_endpoint_auth_method cannot change: register anew.')
    }
    const client = await clientOf(req, clientId, { ...metadata, sent: body }, known[0])
    const registered = { ...before, metadata, client }
    await limitRegistrations(req) // else updates would keep an unused app forever
    if (!(await clients.replace(before, registered))) throw changedMeanwhile()
    sendJson(res, 200, describe(registered, token))
  }

  async function remove(req: Request, res: Response): Promise<void> {
    const { clientId } = (await ownRegistration(req)).registered.client
    await parts.end({ event: 'app deleted', clientId })
    res.status(204).end()
  }

  /** @throws {OAuthError} 401 unless the request has the registration's own access token (RFC 7592 §2) */
  async function ownRegistration(req: Request): Promise<{ registered: RegisteredClient; token: string }> {
    const found = findToken(req)
    if ('refused' in found) throw accessRefused(issuer, found)
    if (!isToken(found.token)) throw accessRefused(issuer, refuse('malformed_credentials'))
    const registered = await clients.find(String(req.params.clientId))
    const isOwn = registered && sameSecret(hashOf(found.token), registered.tokenHash)
    if (isOwn) return { registered, token: found.token }
    throw accessRefused(issuer, refuse('signature'))
  }

  /** Counts registrations that are kept. */
  function limitRegistrations(req: Request): Promise<void> {
    const { perAddress, perHour } = registration
    return limitStrangers(records, req, { ...LIMITS, perAddress, inAll: perHour })
  }

  /** The app as the server knows it. */
  async function clientOf(req: Request, clientId: string, metadata: ClientMetadata, secretHash: string | undefined) {
    const client = await selfRegisteredClient(registration, identity, clientId, metadata, req)
    return secretHash === undefined ? client : { ...client, secretHash }
  }

  /**
   * What the server registered (RFC 7591 §3.2.1, RFC 7592 §3). The secret is only in the first response: the server keeps
   * its hash.
   */
  function describe({ client, metadata, issuedAtSec }: RegisteredClient, token: string) {
    const { scope, ...others } = metadata
    const known = { ...client, grants: client.grants ?? [], isUnverified: true }
    const scopes = scope && grantableScope(scope.split(' '), parts, known)
    return {
      client_id: client.clientId,
      client_id_issued_at: issuedAtSec,
      ...others,
      ...(scopes && { scope: scopes.join(' ') }),
      ...(client.secretHash !== undefined && { client_secret_expires_at: 0 }),
      registration_client_uri: `${issuer}/register/${client.clientId}`,
      registration_access_token: token,
    }
  }
}

function changedMeanwhile(): OAuthError {
  return new OAuthError('invalid_request', 'The registration was changed meanwhile. Read it, and try again.', 409)
}
