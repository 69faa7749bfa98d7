import type { ServerContext } from '../server-context'
import { invalidGrant, invalidRequest } from '../oauth-error'
import { verifyPkce } from '../parameters/pkce'
import type { Grant, GrantRequest, TokenResponse } from './grant'
import { issueTokens } from './issue-tokens'

/** Exchanges a code for tokens (RFC 6749 §4.1.3, RFC 7636 §4.5). */
export const authorizationCode: Grant = {
  name: 'authorization_code',
  parameters: ['code', 'redirect_uri', 'code_verifier'],
  handle,
}

async function handle(ctx: ServerContext, { client, params, query }: GrantRequest): Promise<TokenResponse> {
  const code = params.need('code')
  const redirectUri = redirectUriOf({ params, query })
  const record = await ctx.codes.find(code)
  const isOwner =
    record?.authorization.clientId === client.clientId &&
    record.redirectUri === redirectUri &&
    verifyPkce(params.get('code_verifier'), record.challenge)
  // A request that does not prove ownership must not spend the code or revoke its tokens.
  if (!isOwner) throw invalidGrant('code')

  const spent = await ctx.codes.spend(code)
  const { authorization, nonce } = record
  if (!spent?.first) {
    // RFC 6749 §4.1.2, RFC 9700 §4.5: the code was used twice, so one of the two users may be a thief.
    await ctx.revocations.revokeGrant(authorization.grantId)
    throw invalidGrant('code')
  }
  return issueTokens(ctx, client, authorization, nonce === undefined ? {} : { nonce })
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
