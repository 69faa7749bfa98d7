import type { Request, Response } from 'express'
import {
  AUTHORIZATION_PARAMS,
  type AuthorizationRequest,
  readAuthorizationRequest,
} from '../parameters/authorization-request'
import type { ServerContext } from '../server-context'
import { OAuthError, invalidRequest } from '../oauth-error'
import type { Params } from '../parameters/params'
import { shown } from '../../http/options'
import { type Client, hasRedirectUri } from '../directories/client'
import { redirectError } from './authorization-response'

/** The redirect URI of a request. @throws {OAuthError} invalid_request unless its app registered it */
export function registeredRedirectUri(params: Params, client: Client): string {
  const redirectUri = params.need('redirect_uri')
  if (hasRedirectUri(client, redirectUri)) return redirectUri
  throw invalidRequest('The redirect_uri is not registered.').because(
    `redirect_uri ${shown(redirectUri)} is not one of ${shown(client.redirectUris ?? [])}`,
  )
}

/** Bytes of all parameters. */
const LONGEST_REQUEST = 16_384

/**
 * Reads an authorization request and passes it on. Checks the client and the redirect URI first: until both are valid an
 * error is shown as a page; later errors are sent to the redirect URI (RFC 6749 §4.1.2.1).
 *
 * @param pushedId identifies the request, if its client pushed it (RFC 9126)
 */
export async function withAuthorizationRequest(
  ctx: ServerContext,
  params: Params,
  pushedId: string | undefined,
  req: Request,
  res: Response,
  use: (request: AuthorizationRequest) => Promise<void>,
): Promise<void> {
  // The pages and the redirect that answers carry the parameters along, so too much of them would fail there.
  params.refuseLonger(AUTHORIZATION_PARAMS, LONGEST_REQUEST)
  params.refuseRepeated(['client_id', 'redirect_uri'])
  ctx.pages.speak(res, params.get('ui_locales'))
  const clientId = params.need('client_id')
  const client = await ctx.clients.findClient(clientId)
  if (!client) throw invalidRequest('The client is unknown.').because(`client_id ${shown(clientId)} is unknown`)
  const redirectUri = registeredRedirectUri(params, client)

  let request: AuthorizationRequest
  try {
    if (pushedId === undefined && (client.requirePushedRequests ?? ctx.requirePushedRequests)) {
      throw invalidRequest('This app must push its authorization requests (RFC 9126 section 6).')
    }
    request = readAuthorizationRequest(params, client, redirectUri, ctx)
  } catch (err) {
    if (!(err instanceof OAuthError)) throw err
    const state = params.repeats('state') ? undefined : params.get('state')
    const isFormPost = params.get('response_mode') === 'form_post' && /^https?:/.test(redirectUri)
    const responseMode = isFormPost ? 'form_post' : 'query'
    const prompt = new Set(params.get('prompt')?.split(' '))
    return redirectError(ctx, req, res, { redirectUri, state, responseMode, client, prompt }, err)
  }
  await use(request)
}
