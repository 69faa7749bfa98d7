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
  const isOwner =
    record?.authorization.clientId === client.clientId &&
    record.redirectUri === redirectUri &&
    verifyPkce(params.get('code_verifier'), record.challenge) &&
    (record.dpopJkt === undefined || record.dpopJkt === jkt)
  // A request that does not prove ownership must not spend the code or revoke its tokens.
  if (!isOwner) throw invalidGrant('code')

  const { authorization, nonce } = record
  const audience = audienceFor(params.all('resource'), audienceOf(ctx, client, authorization))
  if (await ctx.revocations.isGrantRevoked(authorization)) throw invalidGrant('code')
  // The code is spent last: whatever fails before, the client may send it again.
  const tokens = await issueTokens(ctx, client, authorization, { audience, jkt, ...(nonce !== undefined && { nonce }) })
  const refreshToken = await issueRefreshToken(ctx, client, code, authorization, jkt)
  const spent = await ctx.codes.spend(code)
  if (!spent?.first) {
    // RFC 6749 §4.1.2, RFC 9700 §4.5: the code was used twice, so one of the two users may be a thief.
    await ctx.revocations.revokeGrant(authorization.grantId)
    throw invalidGrant('code')
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
