import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import type { Audience } from '../bearer/claims/claim-options'
import { type ProviderOptions, client, needList, preset, presetOptions } from './provider'

/** Options of {@link githubActions}. */
export interface GithubActionsOptions {
  /** What the workflow asks its token for. */
  readonly audience: Audience
  /**
   * The workflows accepted, by `sub`: `repo:acme/tree:ref:refs/heads/main`. A repository made or renamed since July
   * 2026 has ids in it: `repo:acme@123456/tree@456789:ref:refs/heads/main`. `*` stands for any characters but a colon,
   * here and below. Everybody's workflows have the same issuer, so give this or `repositories`.
   */
  readonly subjects?: readonly string[] | undefined
  /** The repositories accepted, by name or, as nobody else can have it, by id: `['acme/*', '456789']`. */
  readonly repositories?: readonly string[] | undefined
  /** The branches and tags accepted: `['refs/heads/main']`. Default: any. */
  readonly refs?: readonly string[] | undefined
  readonly more?: ProviderOptions | undefined
}

/**
 * Tokens of GitHub Actions. Each is a client, by its `sub`; there are no users.
 *
 * @see https://docs.github.com/en/actions/reference/security/oidc
 * @see https://github.blog/changelog/2026-04-23-immutable-subject-claims-for-github-actions-oidc-tokens/
 */
export function githubActions(options: GithubActionsOptions): IssuerOptions {
  const { audience, subjects, repositories, refs, more } = presetOptions('githubActions', options, [
    'audience',
    'subjects',
    'repositories',
    'refs',
    'more',
  ])
  const ofRepositories = repositories && needList('githubActions', 'repositories', repositories)
  const accepted = ofRepositories && !subjects ? [] : needList('githubActions', 'subjects or repositories', subjects)
  const isSubject = isOneOf(accepted)
  const isRepository = isOneOf(ofRepositories)
  const isRef = isOneOf(refs && needList('githubActions', 'refs', refs))
  return preset(
    'githubActions',
    {
      issuer: 'https://token.actions.githubusercontent.com',
      audience,
      algorithms: ['RS256'],
      // Exact names are required claims, so that a warning shows the name of a workflow that is refused.
      ...(accepted.length > 0 && !accepted.join('').includes('*') && { requiredClaims: { sub: accepted } }),
      checkClaims: ({ sub, ref, repository, repository_id }) =>
        (accepted.length === 0 || isSubject(sub)) &&
        (isRepository(repository) || isRepository(repository_id)) &&
        isRef(ref),
      session: ({ sub }) => client(sub),
    },
    more,
  )
}

/** Whether a claim is one of a list, in which `*` stands for characters of one name; without a list it is. */
function isOneOf(list: readonly string[] | undefined): (claim: unknown) => boolean {
  const patterns = list?.map(patternOf)
  return (claim) => !patterns || (typeof claim === 'string' && patterns.some((pattern) => pattern.test(claim)))
}

function patternOf(subject: string): RegExp {
  const parts = subject.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^:]*')}$`)
}
