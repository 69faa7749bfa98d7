import type { Request, Response } from 'express'
import { hashOf, newSecret } from '../../http/secret'
import { authenticateClient } from '../client-auth/authenticate-client'
import { proofThumbprint } from '../client-auth/dpop-proof'
import { isConfidential } from '../directories/client'
import { OAuthError, invalidRequest } from '../oauth-error'
import {
  AUTHORIZATION_PARAMS,
  rawAuthorizationParams,
  readAuthorizationRequest,
} from '../parameters/authorization-request'
import { formOf } from '../parameters/form'
import { Params, type RawParams } from '../parameters/params'
import type { ServerContext } from '../server-context'
import { RegisteredClients } from '../records/registered-clients'
import { type Endpoint, sendJson } from './endpoint'
import { registeredRedirectUri } from './find-request'
import { limitStrangers } from './limit-strangers'

/** Takes an authorization request from its client directly (RFC 9126). */
export const pushedRequestEndpoint: Endpoint = { path: '/par', methods: { POST: push }, errors: 'json' }

/** A pushed request, as stored. */
interface PushedRequest {
  readonly params: RawParams
}

/** A pushed request, found by its `request_uri`. */
export interface FoundPushedRequest {
  readonly params: Params
  /** Identifies the request. It yields one code. */
  readonly id: string
}

const LIFETIME_SEC = 60
/** Bytes of all parameters: they stand in the store, then in the pages. */
const LONGEST_REQUEST = 16_384
/** Requests a minute of apps that anybody can speak for. */
const LIMITS = {
  name: 'pushed',
  perAddress: 600,
  inAll: 6_000,
  windowMs: 60_000,
  refusal: 'Too many requests have been pushed.',
}
const PREFIX = 'urn:ietf:params:oauth:request_uri:'

async function push(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  const params = await formOf(req)
  params.refuseLonger([...AUTHORIZATION_PARAMS, 'resource'], LONGEST_REQUEST)
  const client = await authenticateClient(ctx, req, params, '/par')
  if (!isConfidential(client) || RegisteredClients.isRegistered(client.clientId)) await limitStrangers(ctx, req, LIMITS)
  if (params.get('request_uri') !== undefined) throw invalidRequest('A pushed request must have no request_uri.')
  params.refuseRepeated(['client_id', 'redirect_uri'])
  const redirectUri = registeredRedirectUri(params, client)
  const request = readAuthorizationRequest(params, client, redirectUri, ctx)
  const jkt = await proofThumbprint(ctx, req, res, '/par')
  if (jkt !== undefined && request.dpopJkt !== undefined && jkt !== request.dpopJkt) {
    throw new OAuthError('invalid_dpop_proof', 'The dpop_jkt is not the key of the proof (RFC 9449 section 10.1).')
  }
  const secret = newSecret()
  const raw = {
    ...rawAuthorizationParams(params),
    client_id: client.clientId,
    ...(jkt !== undefined && { dpop_jkt: jkt }),
  }
  await ctx.records.set('pushed', hashOf(secret), { params: raw } satisfies PushedRequest, LIFETIME_SEC * 1_000)
  sendJson(res, 201, { request_uri: PREFIX + secret, expires_in: LIFETIME_SEC })
}

/**
 * The pushed request that an authorization request refers to, or undefined if it refers to none.
 *
 * @throws {OAuthError} invalid_request if it is unknown, expired or another client's; invalid_request_uri is for URIs that a
 *   server would have to fetch
 */
export async function findPushedRequest(ctx: ServerContext, params: Params): Promise<FoundPushedRequest | undefined> {
  params.refuseRepeated(['request_uri', 'client_id'])
  const uri = params.get('request_uri')
  if (!uri?.startsWith(PREFIX)) return undefined
  const id = hashOf(uri.slice(PREFIX.length))
  const pushed = await ctx.records.get<PushedRequest>('pushed', id)
  if (!pushed || pushed.params.client_id !== params.need('client_id')) {
    throw invalidRequest('The request_uri is unknown or has expired.')
  }
  return { params: Params.of(pushed.params), id }
}
