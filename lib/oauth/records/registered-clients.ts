import type { Client, ClientDirectory } from '../directories/client'
import type { ClientMetadata } from '../parameters/client-metadata'
import type { Records } from './records'

/** An app that registered itself (RFC 7591). */
export interface RegisteredClient {
  readonly client: Client
  /** As registered. */
  readonly metadata: ClientMetadata
  /** The SHA-256 of its registration access token (RFC 7592 §3). */
  readonly tokenHash: string
  readonly issuedAtSec: number
}

/** Begins the ids of apps that registered themselves. */
const PREFIX = 'dyn-'

/** The apps that registered themselves. An unused registration expires; every use renews it. */
export class RegisteredClients {
  readonly #records: Records
  readonly #lifetimeMs: number

  constructor(records: Records, lifetimeMs: number) {
    this.#records = records
    this.#lifetimeMs = lifetimeMs
  }

  /** The app key of an id. */
  static clientIdOf(id: string): string {
    return PREFIX + id
  }

  save(registered: RegisteredClient): Promise<void> {
    return this.#records.set('client', registered.client.clientId, registered, this.#lifetimeMs)
  }

  async find(clientId: string): Promise<RegisteredClient | undefined> {
    if (!/^dyn-[\w-]{36}$/.test(clientId)) return undefined
    return this.#records.get<RegisteredClient>('client', clientId, this.#lifetimeMs)
  }

  async remove(clientId: string): Promise<void> {
    await this.#records.claim('client', clientId, 0)
  }
}

/** The app's own directory first, then the apps that registered themselves. */
export function withRegistered(directory: ClientDirectory, registered: RegisteredClients): ClientDirectory {
  return {
    async findClient(clientId) {
      return (await directory.findClient(clientId)) ?? (await registered.find(clientId))?.client
    },
  }
}
