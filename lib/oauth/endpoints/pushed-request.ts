import type { Request, Response } from 'express'
import { hashOf, newSecret } from '../../http/secret'
import { isConfidential } from '../directories/client'
import { OAuthError, invalidRequest } from '../oauth-error'
import {
  rawAuthorizationParams,
  readAuthorizationRequest,
  refuseLongRequest,
  registeredRedirectUri,
} from '../parameters/authorization-request'
import { formOf } from '../parameters/form'
import { Params, type RawParams } from '../parameters/params'
import type { Parts } from '../parts'
import { ofApp, ofStranger } from '../records/owners'
import type { Records } from '../records/records'
import { limitStrangers } from '../records/strangers'
import { type Endpoint, sendJson } from './endpoint'
import { PAGE_LIFETIME_MS } from './interaction'

/** A pushed request, as stored. */
interface PushedRequest {
  readonly params: RawParams
  /** Whether its page was shown: it can be loaded again for as long as that page can be submitted. */
  readonly isShown?: boolean
}

/** A pushed request, found by its `request_uri`. */
export interface FoundPushedRequest {
  readonly params: Params
  /** Identifies the request. It yields one code. */
  readonly id: string
}

const LIFETIME_SEC = 60
/** Requests a minute of each app that anybody can speak for; those that registered themselves count together. */
const LIMITS = { name: 'pushed', refusal: 'Too many requests have been pushed.' }
const PREFIX = 'urn:ietf:params:oauth:request_uri:'

/** Takes an authorization request from its client directly (RFC 9126). */
export function pushedRequestEndpoint(parts: Parts): Endpoint {
  return { path: '/par', methods: { POST: push }, errors: 'json', anyOrigin: true }

  async function push(req: Request, res: Response): Promise<void> {
    const params = await formOf(req)
    refuseLongRequest(params, parts)
    const client = await parts.authentication.authenticate(req, params, '/par')
    const { clientId, isUnverified } = client
    if (params.get('request_uri') !== undefined) throw invalidRequest('A pushed request must have no request_uri.')
    params.refuseRepeated(['client_id', 'redirect_uri'])
    const redirectUri = registeredRedirectUri(params, client)
    const request = readAuthorizationRequest(params, client, redirectUri, parts)
    const proof = parts.keyProofs.read(req, res, '/par')
    if (proof && request.dpopJkt !== undefined && proof.jkt !== request.dpopJkt) {
      throw new OAuthError('invalid_dpop_proof', 'The dpop_jkt is not the key of the proof (RFC 9449 section 10.1).')
    }
    if (!isConfidential(client) || isUnverified) {
      await limitStrangers(parts.records, req, { ...LIMITS, app: isUnverified ? 'strangers' : clientId })
    }
    await proof?.use(ofApp(client))
    const secret = newSecret()
    const raw = { ...rawAuthorizationParams(params, parts), client_id: clientId, ...(proof && { dpop_jkt: proof.jkt }) }
    const pushed: PushedRequest = { params: raw }
    await parts.records.set('pushed', hashOf(secret), pushed, LIFETIME_SEC * 1_000, ofApp(client))
    sendJson(res, 201, { request_uri: PREFIX + secret, expires_in: LIFETIME_SEC })
  }
}

/**
 * The pushed request that an authorization request refers to, or undefined if it refers to none.
 *
 * @throws {OAuthError} invalid_request if it is unknown, expired or another client's; invalid_request_uri is for URIs that a
 *   server would have to fetch
 */
export async function findPushedRequest(records: Records, params: Params): Promise<FoundPushedRequest | undefined> {
  params.refuseRepeated(['request_uri', 'client_id'])
  const uri = params.get('request_uri')
  if (!uri?.startsWith(PREFIX)) return undefined
  const id = hashOf(uri.slice(PREFIX.length))
  const pushed = await records.get<PushedRequest>('pushed', id)
  if (!pushed || pushed.params.client_id !== params.need('client_id')) {
    throw invalidRequest('The request_uri is unknown or has expired.')
  }
  if (!pushed.isShown) await records.set('pushed', id, { ...pushed, isShown: true }, PAGE_LIFETIME_MS, ofStranger())
  return { params: Params.of(pushed.params), id }
}
