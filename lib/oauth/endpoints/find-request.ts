import type { Response } from 'express'
import { type AuthorizationRequest, readAuthorizationRequest } from '../parameters/authorization-request'
import type { Context } from '../context'
import { OAuthError, invalidRequest } from '../oauth-error'
import type { Params } from '../parameters/params'
import { isRegistered } from '../parameters/redirect-uri'
import { redirectError } from './authorization-response'

/**
 * Finds the client and checks the redirect URI before anything else is looked at: until both are good an error is a page,
 * afterwards it is sent to the redirect URI (RFC 6749 §4.1.2.1).
 */
export async function withAuthorizationRequest(
  ctx: Context,
  params: Params,
  res: Response,
  use: (request: AuthorizationRequest) => Promise<void>,
): Promise<void> {
  params.refuseRepeated(['client_id', 'redirect_uri'])
  const client = await ctx.clients.findClient(params.need('client_id'))
  if (!client) throw invalidRequest('The client is not known.')
  const redirectUri = params.need('redirect_uri')
  if (!isRegistered(redirectUri, client.redirectUris ?? [])) throw invalidRequest('The redirect_uri is not registered.')

  let request: AuthorizationRequest
  try {
    request = readAuthorizationRequest(params, client, redirectUri)
  } catch (err) {
    if (!(err instanceof OAuthError)) throw err
    const state = params.repeats('state') ? undefined : params.get('state')
    return redirectError(ctx, res, { redirectUri, state }, err)
  }
  await use(request)
}
