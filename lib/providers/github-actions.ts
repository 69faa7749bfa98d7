import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import type { Audience } from '../bearer/claims/claim-options'
import { type ProviderOptions, client, needList, preset } from './provider'

/** Options of {@link githubActions}. */
export interface GithubActionsOptions {
  /** What the workflow asks its token for. */
  readonly audience: Audience
  /** The workflows accepted, by `sub`: `repo:acme/tree:ref:refs/heads/main`. Everybody's have the same issuer. */
  readonly subjects: readonly string[]
  readonly more?: ProviderOptions | undefined
}

/**
 * Tokens of GitHub Actions. Each is a client, by its `sub`; there are no users.
 *
 * @see https://docs.github.com/en/actions/reference/security/oidc
 */
export function githubActions({ audience, subjects, more }: GithubActionsOptions): IssuerOptions {
  return preset(
    {
      issuer: 'https://token.actions.githubusercontent.com',
      audience,
      algorithms: ['RS256'],
      requiredClaims: { sub: needList('githubActions', 'subjects', subjects) },
      session: ({ sub }) => client(sub),
    },
    more,
  )
}
