import type { Context } from '../context'
import { invalidGrant, invalidRequest } from '../oauth-error'
import { fits } from '../parameters/pkce'
import type { Grant, GrantRequest, TokenResponse } from './grant'
import { issueTokens } from './issue-tokens'

/** A code for tokens (RFC 6749 §4.1.3, RFC 7636 §4.5). */
export const authorizationCode: Grant = {
  name: 'authorization_code',
  parameters: ['code', 'redirect_uri', 'code_verifier'],
  handle,
}

async function handle(ctx: Context, { client, params, query }: GrantRequest): Promise<TokenResponse> {
  const code = params.need('code')
  const redirectUri = redirectUriOf({ params, query })
  const known = await ctx.codes.look(code)
  const isOwner =
    known?.authorization.clientId === client.clientId &&
    known.redirectUri === redirectUri &&
    fits(params.get('code_verifier'), known.challenge)
  // Whoever cannot show that the code is his neither spends it nor revokes anything.
  if (!isOwner) throw invalidGrant('code')

  const spent = await ctx.codes.spend(code)
  const { authorization, nonce } = known
  if (!spent?.first) {
    // RFC 6749 §4.1.2, RFC 9700 §4.5: of two who hold the code one is a thief, and we cannot know which.
    await ctx.revocations.revokeGrant(authorization.grantId)
    throw invalidGrant('code')
  }
  return issueTokens(ctx, client, authorization, nonce === undefined ? {} : { nonce })
}

/** One of the service's clients puts it into the token endpoint's URL. */
function redirectUriOf({ params, query }: Pick<GrantRequest, 'params' | 'query'>): string {
  query.refuseRepeated(['redirect_uri'])
  const [inBody, inUrl] = [params.get('redirect_uri'), query.get('redirect_uri')]
  if (inBody !== undefined && inUrl !== undefined && inBody !== inUrl) {
    throw invalidRequest('The redirect_uri in the URL is not the one in the body.')
  }
  return inBody ?? inUrl ?? params.need('redirect_uri')
}
