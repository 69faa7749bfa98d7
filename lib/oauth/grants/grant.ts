import type { Client, GrantName } from '../directories/client'
import type { Context } from '../context'
import type { Params } from '../parameters/params'

/** What a grant is asked with. */
export interface GrantRequest {
  /** Authenticated, and registered for the grant. */
  readonly client: Client
  /** Of the body. */
  readonly params: Params
  /** Of the URL, where one client puts its redirect URI. */
  readonly query: Params
}

/** A successful answer of the token endpoint (RFC 6749 §5.1). */
export interface TokenResponse {
  readonly access_token: string
  readonly token_type: string
  readonly expires_in?: number
  readonly refresh_token?: string
  readonly scope?: string
  readonly id_token?: string
  /** The access token again, where the service's clients look for it. */
  readonly token?: string
}

/** A grant: what the token endpoint knows of it. */
export interface Grant {
  readonly name: GrantName
  /** What it reads of the body; none of it may stand there twice. */
  readonly parameters: readonly string[]
  /** @throws {OAuthError} where nothing is granted */
  readonly handle: (ctx: Context, request: GrantRequest) => Promise<TokenResponse>
}
