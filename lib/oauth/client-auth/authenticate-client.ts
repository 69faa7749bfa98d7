import type { Request } from 'express'
import { type Client, isConfidential } from '../directories/client'
import type { Context } from '../context'
import { OAuthError, invalidRequest } from '../oauth-error'
import type { Params } from '../parameters/params'
import { hashOf, sameSecret } from '../../http/secret'
import { JWT_BEARER, LONGEST_ASSERTION_MS, assertedClient, verifiedAssertion } from './assertion'
import { readBasic } from './basic'
import { TIMESTAMP_TOLERANCE_MS, timestampOf } from './timestamp-secret'

/** How a client may authenticate, for the discovery document. */
export const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'] as const

/** The parameters that are looked at here. */
export const CLIENT_AUTH_PARAMS = ['client_id', 'client_secret', 'client_assertion', 'client_assertion_type'] as const

interface Credentials {
  readonly clientId: string
  readonly secret?: string
  readonly assertion?: string
}

/**
 * The client that a request comes from, authenticated if it has anything to authenticate with (RFC 6749 §2.3, §3.2.1):
 * `client_secret_basic`, `client_secret_post`, an RSA-timestamp secret, `private_key_jwt`, or none for a public client.
 *
 * @throws {OAuthError} 401 invalid_client, or 400 invalid_request where there is more than one method
 */
export async function authenticateClient(ctx: Context, req: Request, params: Params): Promise<Client> {
  const credentials = credentialsOf(ctx, req, params)
  const client = await ctx.clients.findClient(credentials.clientId)
  if (!client || !(await proves(ctx, client, credentials))) throw unknownClient(ctx)
  return client
}

function credentialsOf(ctx: Context, req: Request, params: Params): Credentials {
  params.refuseRepeated(CLIENT_AUTH_PARAMS)
  const clientId = params.get('client_id')
  // One public client sends a space where it has no secret; another sends an empty one.
  const secret = params.get('client_secret')?.trim() || undefined
  const assertion = params.get('client_assertion')
  const field = authorizationField(req)
  if ([secret, assertion, field].filter((method) => method !== undefined).length > 1) {
    throw invalidRequest('The client must authenticate in one way only (RFC 6749 section 2.3).')
  }
  if (field !== undefined) {
    const basic = readBasic(field)
    if (!basic || (clientId !== undefined && clientId !== basic.clientId)) throw unknownClient(ctx)
    return basic.secret === '' ? { clientId: basic.clientId } : basic
  }
  if (assertion !== undefined) {
    if (params.get('client_assertion_type') !== JWT_BEARER)
      throw invalidRequest('The client_assertion_type is not known.')
    const asserted = assertedClient(assertion)
    if (asserted === undefined || (clientId !== undefined && clientId !== asserted)) throw unknownClient(ctx)
    return { clientId: asserted, assertion }
  }
  if (clientId === undefined) throw unknownClient(ctx)
  return { clientId, ...(secret !== undefined && { secret }) }
}

/** Node keeps only the first of two `Authorization` fields, and a proxy in front may have looked at the other. */
function authorizationField(req: Request): string | undefined {
  const fields = req.rawHeaders.filter(
    (_, i) => req.rawHeaders[i - 1]?.toLowerCase() === 'authorization' && i % 2 === 1,
  )
  if (fields.length > 1) throw invalidRequest('There is more than one Authorization header field.')
  return fields[0]
}

async function proves(ctx: Context, client: Client, { secret, assertion }: Credentials): Promise<boolean> {
  if (assertion !== undefined) return provesByAssertion(ctx, client, assertion)
  if (secret === undefined) return !isConfidential(client)
  if (client.secretHash !== undefined && sameSecret(hashOf(secret), client.secretHash)) return true
  return provesByTimestamp(ctx, client, secret)
}

async function provesByTimestamp(ctx: Context, client: Client, secret: string): Promise<boolean> {
  const time = await timestampOf(secret, client.publicKeys ?? [], ctx.clock.date())
  return time !== undefined && once(ctx, `${client.clientId} timestamp ${time}`, 2 * TIMESTAMP_TOLERANCE_MS)
}

async function provesByAssertion(ctx: Context, client: Client, assertion: string): Promise<boolean> {
  const audiences = [ctx.issuer, ...['token', 'introspect', 'revoke'].map((endpoint) => `${ctx.issuer}/${endpoint}`)]
  const nowSec = ctx.clock.date() / 1_000
  const verified = verifiedAssertion(assertion, client.clientId, client.publicKeys ?? [], audiences, nowSec)
  return verified !== undefined && once(ctx, `${client.clientId} jwt ${verified.jti}`, 2 * LONGEST_ASSERTION_MS)
}

/** Whether nobody has said this before, in whatever process: a proof is good once. */
async function once(ctx: Context, proof: string, rememberMs: number): Promise<boolean> {
  return (await ctx.records.count('assertion', hashOf(proof), 1, rememberMs)).total === 1
}

function unknownClient(ctx: Context): OAuthError {
  const challenge = { 'WWW-Authenticate': `Basic realm="${new URL(ctx.issuer).host}"` }
  return new OAuthError('invalid_client', 'The client is not known, or its authentication is wrong.', 401, challenge)
}
