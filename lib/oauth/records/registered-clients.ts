import { narrowJson } from '../../http/json'
import { hashOf } from '../../http/secret'
import type { StrangerClient } from '../directories/client'
import { type ClientMetadata, defaultScopeOf } from '../parameters/client-metadata'
import { OAuthError } from '../oauth-error'
import type { Owner } from './owners'
import type { Records } from './records'

/** An app that registered itself (RFC 7591). */
export interface RegisteredClient {
  readonly client: StrangerClient
  /** The block that registered it. */
  readonly owner: Owner
  /** As registered. */
  readonly metadata: ClientMetadata
  /**
   * The SHA-256 of its registration access token (RFC 7592 §3). Undefined once the same app was registered again: nobody
   * may change what others use.
   */
  readonly tokenHash?: string
  readonly issuedAtSec: number
  /** Whether a user has signed in to it. */
  readonly isUsed?: boolean | undefined
}

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
    const { client, owner } = registered
    const kept = keptOf(registered)
    if (narrowJson(kept).length > LONGEST_REGISTRATION) {
      const message = `The registration is longer than ${LONGEST_REGISTRATION} bytes.`
      throw new OAuthError('invalid_client_metadata', message)
    }
    await this.records.set('client', client.clientId, kept, this.lifetimeMs, owner)
    if (client.secretHash === undefined) {
      await this.records.set('client', sameAs(registered), client.clientId, this.lifetimeMs, owner)
    }
  }

  async find(clientId: string): Promise<RegisteredClient | undefined> {
    if (!RegisteredClients.isRegistered(clientId)) return undefined
    const kept = await this.records.get<Kept>('client', clientId)
    return kept && registeredOf(kept)
  }

  /** The registration of the same public app, with the same rights. A secret is issued once, so others have none. */
  async findSame(registered: RegisteredClient): Promise<RegisteredClient | undefined> {
    if (registered.client.secretHash !== undefined) return undefined
    const found = await this.find((await this.records.get<string>('client', sameAs(registered))) ?? '')
    return found && sameAs(found) === sameAs(registered) ? found : undefined
  }

  /** Lets others use the registration: from now on nobody may change it. */
  share({ tokenHash: _tokenHash, ...registered }: RegisteredClient): Promise<void> {
    return this.save(registered)
  }

  /** Makes the registration last: the app gets tokens of a user. Does nothing for an app of the directory. */
  async renew(clientId: string): Promise<void> {
    if (!RegisteredClients.isRegistered(clientId)) return
    const kept = await this.records.get<Kept>('client', clientId, this.lifetimeMs)
    if (kept && !kept.isUsed) await this.save({ ...registeredOf(kept), isUsed: true })
  }

  async remove(clientId: string): Promise<void> {
    await this.records.claim('client', clientId, 0)
  }
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
}: StrangerClient) {
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

function sameAs({ client, metadata }: RegisteredClient): string {
  return hashOf(JSON.stringify([{ ...withoutMetadata(client), clientId: '' }, metadata]))
}
