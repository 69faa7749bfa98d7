import type { Request, Response } from 'express'
import { shown } from '../../http/options'
import { publish } from '../diagnostics'
import { mayUse } from '../directories/client'
import { appGrants } from '../grants/app-grants'
import { userGrants } from '../grants/user-grants'
import { OAuthError } from '../oauth-error'
import { formOf } from '../parameters/form'
import type { Parts } from '../parts'
import { type Endpoint, sendJson } from './endpoint'

/** The token endpoint (RFC 6749 §3.2). */
export function tokenEndpoint(parts: Parts): Endpoint {
  // A Map, so that `grant_type=__proto__` finds nothing.
  const grants = new Map([...userGrants(parts), ...appGrants(parts)].map((grant) => [grant.name as string, grant]))
  return { path: '/token', methods: { POST: token }, errors: 'json', anyOrigin: true }

  async function token(req: Request, res: Response): Promise<void> {
    const params = await formOf(req)
    params.refuseRepeated(['grant_type'])
    const grant = grants.get(params.need('grant_type'))
    if (!grant) {
      const reason = `grant_type ${shown(params.get('grant_type'))} is not one of ${[...grants.keys()].join(', ')}`
      throw new OAuthError('unsupported_grant_type', 'This grant_type is not supported.').because(reason)
    }
    params.refuseRepeated(grant.parameters)
    const client = await parts.authentication.authenticate(req, params, '/token')
    if (!mayUse(client, grant.name)) {
      const reason = `the grants of ${shown(client.clientId)} do not have ${grant.name}`
      throw new OAuthError('unauthorized_client', 'This app is not registered for this grant_type.').because(reason)
    }
    const proof = parts.keyProofs.read(req, res, '/token')
    if (!proof && client.requireDpop) {
      throw new OAuthError('invalid_dpop_proof', 'This app must prove its key (RFC 9449 section 5.2).')
    }
    const useProof = proof?.use ?? (() => Promise.resolve())
    const response = await grant.handle({ req, client, params, jkt: proof?.jkt, useProof })
    const scope = response.scope?.split(' ') ?? []
    publish('oauth-token-issued', { clientId: client.clientId, grant: grant.name, scope, bound: proof !== undefined })
    sendJson(res, 200, response)
  }
}
