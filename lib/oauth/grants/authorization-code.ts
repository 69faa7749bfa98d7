import { shown } from '../../http/options'
import type { ServerContext } from '../server-context'
import { invalidGrant, invalidRequest } from '../oauth-error'
import { verifyPkce } from '../parameters/pkce'
import { audienceFor } from '../parameters/resource'
import { type Grant, type GrantRequest, type TokenResponse, audienceOf } from './grant'
import { issueRefreshToken, issueTokens } from './issue-tokens'

/** Exchanges a code for tokens (RFC 6749 §4.1.3, RFC 7636 §4.5). */
export const authorizationCode: Grant = {
  name: 'authorization_code',
  parameters: ['code', 'redirect_uri', 'code_verifier'],
  handle,
}

async function handle(ctx: ServerContext, { client, params, query, jkt }: GrantRequest): Promise<TokenResponse> {
  const code = params.need('code')
  const redirectUri = redirectUriOf({ params, query })
  const record = await ctx.codes.find(code)
  // A request that does not prove ownership must not spend the code or revoke its tokens.
  const refuse = (reason: string) => invalidGrant('code').because(reason)
  if (!record) throw refuse('the code is unknown or has expired')
  if (record.authorization.clientId !== client.clientId) {
    throw refuse(`the code is that of ${shown(record.authorization.clientId)}, not of ${shown(client.clientId)}`)
  }
  if (record.redirectUri !== redirectUri) {
    throw refuse(`redirect_uri ${shown(redirectUri)} is not that of the code, ${shown(record.redirectUri)}`)
  }
  if (!verifyPkce(params.get('code_verifier'), record.challenge)) {
    throw refuse('the code_verifier does not match the code_challenge, or one of them is missing')
  }
  if (record.dpopJkt !== undefined && record.dpopJkt !== jkt) throw refuse('the code is bound to another DPoP key')

  const { authorization, nonce } = record
  const audience = audienceFor(params.all('resource'), audienceOf(ctx, client, authorization))
  if (await ctx.revocations.isGrantRevoked(authorization))
    throw refuse('the grant, its session or its user was revoked')
  // The code is spent last: whatever fails before, the client may send it again.
  const tokens = await issueTokens(ctx, client, authorization, { audience, jkt, ...(nonce !== undefined && { nonce }) })
  const refreshToken = await issueRefreshToken(ctx, client, code, authorization, jkt)
  const spent = await ctx.codes.spend(code)
  if (!spent?.first) {
    // RFC 6749 §4.1.2, RFC 9700 §4.5: the code was used twice, so one of the two users may be a thief.
    await ctx.revocations.revokeGrant(authorization.grantId)
    throw refuse('the code was used before: its tokens are revoked')
  }
  return { ...tokens, ...(refreshToken !== undefined && { refresh_token: refreshToken }) }
}

/** Accepts `redirect_uri` in the URL too: one of the service's clients sends it there. */
function redirectUriOf({ params, query }: Pick<GrantRequest, 'params' | 'query'>): string {
  query.refuseRepeated(['redirect_uri'])
  const [inBody, inUrl] = [params.get('redirect_uri'), query.get('redirect_uri')]
  if (inBody !== undefined && inUrl !== undefined && inBody !== inUrl) {
    throw invalidRequest('The redirect_uri in the URL differs from the one in the body.')
  }
  return inBody ?? inUrl ?? params.need('redirect_uri')
}
