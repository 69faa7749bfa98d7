import type { Request } from 'express'
import { fieldValues } from '../../bearer/credentials/credentials'
import { shown } from '../../http/options'
import { type Client, isConfidential } from '../directories/client'
import type { ServerContext } from '../server-context'
import { OAuthError, invalidRequest } from '../oauth-error'
import type { Params } from '../parameters/params'
import { hashOf, sameSecret } from '../../http/secret'
import { JWT_BEARER, LONGEST_ASSERTION_MS, assertedClient, verifiedAssertion } from './assertion'
import { readBasic } from './basic'
import { TIMESTAMP_TOLERANCE_MS } from './timestamp-secret'

/** The client authentication methods, for the discovery document. */
export const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'] as const

/** The endpoints that clients authenticate at. */
const ENDPOINTS = ['/token', '/par', '/introspect', '/revoke']

/** The parameters of client authentication. */
export const CLIENT_AUTH_PARAMS = ['client_id', 'client_secret', 'client_assertion', 'client_assertion_type'] as const

/** What a client authenticates with. A secret may be read in two ways: see `readBasic()`. */
interface Credentials {
  readonly clientId: string
  readonly secrets?: readonly string[]
  readonly assertion?: string
}

/**
 * Authenticates the client of a request (RFC 6749 §2.3, §3.2.1) by `client_secret_basic`, `client_secret_post`, an RSA
 * timestamp secret or `private_key_jwt`. A public client only names itself.
 *
 * @param path the endpoint's, below the issuer
 * @throws {OAuthError} 401 invalid_client, or 400 invalid_request if the request uses more than one method
 */
export async function authenticateClient(
  ctx: ServerContext,
  req: Request,
  params: Params,
  path: string,
): Promise<Client> {
  const readings = credentialsOf(ctx, req, params)
  // Later readings may hold a part of the secret.
  let reason = `client_id ${shown(readings[0]?.clientId)} is unknown`
  for (const credentials of readings) {
    const { clientId } = credentials
    const client = await ctx.clients.findClient(clientId)
    if (client && (await verifyCredentials(ctx, client, credentials, path))) return client
    if (client) reason = `the credentials of ${shown(clientId)} are wrong, missing, or of another kind than registered`
  }
  throw invalidClient(ctx, reason)
}

/** Every reading of the request's credentials. */
function credentialsOf(ctx: ServerContext, req: Request, params: Params): readonly Credentials[] {
  params.refuseRepeated(CLIENT_AUTH_PARAMS)
  const clientId = params.get('client_id')
  // Of the clients without a secret, one sends a space and another an empty value.
  const given = params.get('client_secret')
  const secret = given?.trim() === '' ? undefined : given
  const assertion = params.get('client_assertion')
  const field = authorizationField(req)
  if ([secret, assertion, field].filter((method) => method !== undefined).length > 1) {
    throw invalidRequest('The client must authenticate in one way only (RFC 6749 section 2.3).')
  }
  if (field !== undefined) {
    const basic = readBasic(field)
    if (basic.length === 0)
      throw invalidClient(ctx, 'the Authorization field is not that of Basic authentication (RFC 7617)')
    const named = basic.filter((reading) => clientId === undefined || clientId === reading.clientId)
    if (named.length === 0) throw invalidClient(ctx, 'the client_id is another in the body than in the field')
    return named.map(({ clientId, secrets }) => (secrets[0] === '' ? { clientId } : { clientId, secrets }))
  }
  if (assertion !== undefined) {
    if (params.get('client_assertion_type') !== JWT_BEARER)
      throw invalidRequest('The client_assertion_type is unknown.')
    const asserted = assertedClient(assertion)
    if (asserted === undefined || (clientId !== undefined && clientId !== asserted)) {
      throw invalidClient(ctx, 'the client_assertion names no client, or another than client_id does')
    }
    return [{ clientId: asserted, assertion }]
  }
  if (clientId === undefined) throw invalidClient(ctx, 'the request names no client')
  return [{ clientId, ...(secret !== undefined && { secrets: [secret] }) }]
}

/** Refuses two `Authorization` fields: Node keeps the first, and a proxy in front may have checked the other. */
function authorizationField(req: Request): string | undefined {
  const [field, ...more] = fieldValues(req, 'authorization')
  if (more.length > 0) throw invalidRequest('The request has more than one Authorization header field.')
  return field
}

async function verifyCredentials(
  ctx: ServerContext,
  client: Client,
  { secrets, assertion }: Credentials,
  path: string,
): Promise<boolean> {
  if (assertion !== undefined) return verifyAssertion(ctx, client, assertion, path)
  if (secrets === undefined) return !isConfidential(client)
  for (const secret of secrets) {
    if (client.secretHash !== undefined && sameSecret(hashOf(secret), client.secretHash)) return true
  }
  for (const secret of secrets) if (await verifyTimestampSecret(ctx, client, secret)) return true
  return false
}

async function verifyTimestampSecret(ctx: ServerContext, client: Client, secret: string): Promise<boolean> {
  const time = await ctx.timestampSecrets.timeOf(secret, client.publicKeys ?? [], ctx.clock.date())
  return time !== undefined && isFirstUse(ctx, `${client.clientId} timestamp ${time}`, 2 * TIMESTAMP_TOLERANCE_MS)
}

async function verifyAssertion(ctx: ServerContext, client: Client, assertion: string, path: string): Promise<boolean> {
  const nowSec = ctx.clock.date() / 1_000
  const audiences = {
    own: [ctx.issuer, ...ENDPOINTS.map((endpoint) => ctx.issuer + endpoint)],
    wanted: [ctx.issuer, `${ctx.issuer}/token`, ctx.issuer + path],
  }
  const verified = verifiedAssertion(assertion, client.clientId, client.publicKeys ?? [], audiences, nowSec)
  return verified !== undefined && isFirstUse(ctx, `${client.clientId} jwt ${verified.jti}`, 2 * LONGEST_ASSERTION_MS)
}

/** Whether no process has seen this proof before: each is single-use. */
async function isFirstUse(ctx: ServerContext, proof: string, rememberMs: number): Promise<boolean> {
  return (await ctx.records.count('assertion', hashOf(proof), 1, rememberMs)).total === 1
}

function invalidClient(ctx: ServerContext, reason: string): OAuthError {
  const challenge = { 'WWW-Authenticate': `Basic realm="${new URL(ctx.issuer).host}"` }
  const message = 'The client is unknown or its authentication failed.'
  return new OAuthError('invalid_client', message, 401, challenge).because(reason)
}
