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
  /** Whether a user has signed in to it. */
  readonly isUsed?: boolean | undefined
}

/** Prefix of the app keys of self-registered apps. */
const PREFIX = 'dyn-'

/** Lifetime of an app until its first user signs in. A real client signs its user in right after it registers. */
const UNUSED_MS = 3_600_000

/**
 * The self-registered apps. A registration expires after an hour unless a user signs in to the app, which extends it.
 * So strangers occupy at most the registrations of one hour.
 */
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

  /** Whether that is the app key of an app that registered itself. */
  static isRegistered(clientId: string): boolean {
    return /^dyn-[\w-]{36}$/.test(clientId)
  }

  save(registered: RegisteredClient): Promise<void> {
    const lifetimeMs = registered.isUsed ? this.#lifetimeMs : UNUSED_MS
    return this.#records.set('client', registered.client.clientId, registered, lifetimeMs)
  }

  async find(clientId: string): Promise<RegisteredClient | undefined> {
    if (!RegisteredClients.isRegistered(clientId)) return undefined
    return this.#records.get<RegisteredClient>('client', clientId)
  }

  /** Makes the registration last: the app gets tokens of a user. Does nothing for an app of the directory. */
  async renew(clientId: string): Promise<void> {
    if (!RegisteredClients.isRegistered(clientId)) return
    const registered = await this.#records.get<RegisteredClient>('client', clientId, this.#lifetimeMs)
    if (registered && !registered.isUsed) await this.save({ ...registered, isUsed: true })
  }

  async remove(clientId: string): Promise<void> {
    await this.#records.claim('client', clientId, 0)
  }
}

/** The shape of app keys. Other text, such as NUL or a megabyte, makes some databases fail. */
const CLIENT_ID = /^[\x21-\x7e]{1,255}$/

/** The app's own directory first, then the apps that registered themselves. */
export function withRegistered(directory: ClientDirectory, registered: RegisteredClients | undefined): ClientDirectory {
  return {
    async findClient(clientId) {
      if (!CLIENT_ID.test(clientId)) return undefined
      return (await directory.findClient(clientId)) ?? (await registered?.find(clientId))?.client
    },
  }
}
