import type { Request } from 'express'
import type { GrantName, KnownClient } from '../directories/client'
import { OAuthError } from '../oauth-error'
import type { Params } from '../parameters/params'
import type { Authorization } from '../records/authorizations'
import type { Owner } from '../records/owners'

/** The request that a grant handles. */
export interface GrantRequest {
  readonly req: Request
  /** The client, authenticated and registered for the grant. */
  readonly client: KnownClient
  /** The body's parameters. */
  readonly params: Params
  /** The thumbprint of the key that the request proved to hold (RFC 9449 §5). */
  readonly jkt: string | undefined
  /** Records the proof as used. Called once the request is known to be valid. @throws {OAuthError} */
  readonly useProof: (owner: Owner) => Promise<void>
}

/** A successful token response (RFC 6749 §5.1). */
export interface TokenResponse {
  readonly access_token: string
  readonly token_type: string
  readonly expires_in?: number
  readonly refresh_token?: string
  readonly scope?: string
  readonly id_token?: string
  /** The access token again, under the name that the service's clients read. */
  readonly token?: string
}

/** A grant type of the token endpoint. */
export interface Grant {
  readonly name: GrantName
  /** The body parameters it reads. None may be repeated (RFC 6749 §3.2). */
  readonly parameters: readonly string[]
  /** @throws {OAuthError} if the request is refused */
  readonly handle: (request: GrantRequest) => Promise<TokenResponse>
}

/**
 * The audiences of a user's authorization: those of the resources that were requested, as far as the app still may have them.
 *
 * @param allowed the audiences that the app's tokens may have
 * @throws {OAuthError} invalid_target if it may have none of them any more
 */
export function audienceOf({ audience }: Authorization, allowed: readonly string[]): readonly string[] {
  const left = audience?.filter((one) => allowed.includes(one)) ?? allowed
  if (left.length > 0) return left
  throw new OAuthError('invalid_target', 'This app may not have tokens for the granted resources any more.')
}

/** `token_type` of an access token: `DPoP` if it is bound (RFC 9449 §5), else the one given. */
export function tokenTypeOf(jkt: string | undefined, unbound: string): string {
  return jkt === undefined ? unbound : 'DPoP'
}
