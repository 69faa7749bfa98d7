import type { Request, Response } from 'express'
import { shown } from '../../http/options'
import { authenticateClient } from '../client-auth/authenticate-client'
import { proofThumbprint } from '../client-auth/dpop-proof'
import { mayUse } from '../directories/client'
import type { ServerContext } from '../server-context'
import { formOf, queryOf } from '../parameters/form'
import { publish } from '../diagnostics'
import { GRANTS } from '../grants/grant-table'
import { OAuthError } from '../oauth-error'
import { type Endpoint, sendJson } from './endpoint'

/** The token endpoint (RFC 6749 §3.2). */
export const tokenEndpoint: Endpoint = { path: '/token', methods: { POST: token }, errors: 'json' }

async function token(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  const params = await formOf(req)
  params.refuseRepeated(['grant_type'])
  const grant = GRANTS.get(params.need('grant_type'))
  if (!grant) {
    const reason = `grant_type ${shown(params.get('grant_type'))} is not one of ${[...GRANTS.keys()].join(', ')}`
    throw new OAuthError('unsupported_grant_type', 'This grant_type is not supported.').because(reason)
  }
  params.refuseRepeated(grant.parameters)
  const client = await authenticateClient(ctx, req, params, '/token')
  if (!mayUse(client, grant.name)) {
    const reason = `the grants of ${shown(client.clientId)} do not have ${grant.name}`
    throw new OAuthError('unauthorized_client', 'This app is not registered for this grant_type.').because(reason)
  }
  const jkt = await proofThumbprint(ctx, req, res, '/token')
  if (jkt === undefined && client.requireDpop) {
    throw new OAuthError('invalid_dpop_proof', 'This app must prove its key (RFC 9449 section 5.2).')
  }
  const response = await grant.handle(ctx, { client, params, query: queryOf(req), jkt })
  const scope = response.scope?.split(' ') ?? []
  publish('token-issued', { clientId: client.clientId, grant: grant.name, scope, bound: jkt !== undefined })
  sendJson(res, 200, response)
}
