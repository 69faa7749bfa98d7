import { hashOf } from '../../http/secret'
import type { Client } from '../directories/client'
import type { ClientMetadata } from '../parameters/client-metadata'
import type { Records } from './records'

/** An app that registered itself (RFC 7591). */
export interface RegisteredClient {
  readonly client: Client
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

  async save(registered: RegisteredClient): Promise<void> {
    const { client } = registered
    await this.records.set('client', client.clientId, registered, this.lifetimeMs)
    if (client.secretHash === undefined) {
      await this.records.set('client', sameAs(registered), client.clientId, this.lifetimeMs)
    }
  }

  async find(clientId: string): Promise<RegisteredClient | undefined> {
    if (!RegisteredClients.isRegistered(clientId)) return undefined
    return this.records.get<RegisteredClient>('client', clientId)
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
    const registered = await this.records.get<RegisteredClient>('client', clientId, this.lifetimeMs)
    if (registered && !registered.isUsed) await this.save({ ...registered, isUsed: true })
  }

  async remove(clientId: string): Promise<void> {
    await this.records.claim('client', clientId, 0)
  }
}

function sameAs({ client, metadata }: RegisteredClient): string {
  return hashOf(JSON.stringify([{ ...client, clientId: '' }, metadata]))
}
