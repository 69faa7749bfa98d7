import { narrowJson } from '../../http/json'
import type { SelfRegisteredClient } from '../directories/client'
import { type ClientMetadata, defaultScopeOf } from '../parameters/client-metadata'
import { OAuthError } from '../oauth-error'
import type { Owner } from './owners'
import type { Records } from './records'

/** An app that registered itself (RFC 7591). */
export interface RegisteredClient {
  readonly client: SelfRegisteredClient
  /** The block that registered it. */
  readonly owner: Owner
  /** As registered. */
  readonly metadata: ClientMetadata
  /** The SHA-256 of its registration access token (RFC 7592 §3). */
  readonly tokenHash: string
  readonly issuedAtSec: number
}

/** A change that has not been written after this long has failed. */
const WRITE_MS = 10_000
/** Bytes of a registration as it is kept. */
const LONGEST_REGISTRATION = 8_192

/** A registration as it is kept: what the metadata say stands there once. */
type Kept = Omit<RegisteredClient, 'client'> & {
  readonly client: ReturnType<typeof withoutMetadata>
}

/** Prefix of the app keys of self-registered apps. */
const PREFIX = 'dyn-'

/**
 * The self-registered apps. A registration expires a while after its last use. Where strangers have no room left in the
 * store, the one of the heaviest block of addresses that was used longest ago makes way.
 */
export class RegisteredClients {
  constructor(
    private readonly records: Records,
    private readonly lifetimeMs: number,
  ) {}

  /** The app key of an id. */
  static clientIdOf(id: string): string {
    return PREFIX + id
  }

  /** Whether that is the app key of an app that registered itself. */
  static isRegistered(clientId: string): boolean {
    return /^dyn-[\w-]{36}$/.test(clientId)
  }

  /** @throws {OAuthError} invalid_client_metadata if it is longer than 8 KiB */
  async save(registered: RegisteredClient): Promise<void> {
    refuseLong(registered)
    const { client, owner } = registered
    await this.records.set('client', client.clientId, keptOf(registered), this.lifetimeMs, owner)
  }

  /**
   * Replaces a registration, unless it was changed or deleted since `before` was read. Tells whether it did.
   *
   * @throws {OAuthError} invalid_client_metadata if it is longer than 8 KiB
   */
  async replace(before: RegisteredClient, after: RegisteredClient): Promise<boolean> {
    refuseLong(after)
    // One claim of what is written is the first, in whatever process; the new registration can be claimed again.
    const claim = await this.records.claim<Kept>('client', before.client.clientId, this.lifetimeMs)
    const isWritten = claim && !claim.first && claim.agoMs < WRITE_MS
    if (!claim || isWritten || narrowJson(claim.value.metadata) !== narrowJson(before.metadata)) return false
    await this.save(after)
    return true
  }

  async find(clientId: string): Promise<RegisteredClient | undefined> {
    if (!RegisteredClients.isRegistered(clientId)) return undefined
    const kept = await this.records.get<Kept>('client', clientId)
    return kept && registeredOf(kept)
  }

  /** Makes the registration last: the app gets tokens of a user. Does nothing for an app of the directory. */
  async renew(clientId: string): Promise<void> {
    if (!RegisteredClients.isRegistered(clientId)) return
    await this.records.get('client', clientId, this.lifetimeMs)
  }

  async remove(clientId: string): Promise<void> {
    await this.records.claim('client', clientId, 0)
  }
}

function refuseLong(registered: RegisteredClient): void {
  if (narrowJson(keptOf(registered)).length <= LONGEST_REGISTRATION) return
  throw new OAuthError('invalid_client_metadata', `The registration is longer than ${LONGEST_REGISTRATION} bytes.`)
}

function keptOf({ client, ...registered }: RegisteredClient): Kept {
  return { ...registered, client: withoutMetadata(client) }
}

function withoutMetadata({
  name: _name,
  redirectUris: _uris,
  postLogoutRedirectUris: _others,
  defaultScope: _scope,
  publicKeys: _keys,
  jwksUri: _address,
  ...own
}: SelfRegisteredClient) {
  return own
}

function registeredOf({ client, metadata, ...kept }: Kept): RegisteredClient {
  const {
    client_name: name,
    redirect_uris: redirectUris,
    post_logout_redirect_uris: postLogoutRedirectUris = [],
    jwks,
    jwks_uri: jwksUri,
  } = metadata
  const said = { publicKeys: jwks?.keys, jwksUri, defaultScope: defaultScopeOf(metadata, client.scopes) }
  return { ...kept, metadata, client: { ...client, name, redirectUris, postLogoutRedirectUris, ...said } }
}
