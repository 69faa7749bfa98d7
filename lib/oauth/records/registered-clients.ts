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
  readonly isUsed?: boolean
}

/** Begins the ids of apps that registered themselves. */
const PREFIX = 'dyn-'

/** How long an app is kept to which no user has signed in yet: whoever registers one uses it at once. */
const UNUSED_MS = 3_600_000

/**
 * The apps that registered themselves. Only what a user allows makes a registration last, and each time anew: anybody may
 * register, so what is kept for strangers is what they can register in an hour.
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

/** What no app key has would make some databases fail: NUL, line breaks, a megabyte. */
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
