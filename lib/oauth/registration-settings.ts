import type { Request } from 'express'
import type { Complete } from '../http/options'
import type { Client } from './directories/client'
import type { ClientMetadata } from './parameters/client-metadata'

/** The rights of a self-registered app. */
export type RegistrationGrant = Partial<
  Pick<Client, 'realm' | 'scopes' | 'audiences' | 'onwardOrigins' | 'requireDpop'>
>

/** Lets apps register themselves (RFC 7591). */
export interface RegistrationOptions {
  /**
   * Decides about each registration and says what the app may ask for; `false` refuses. This function also checks an
   * initial access token (RFC 7591 §3).
   *
   * @example accept: ({ redirect_uris }) => redirect_uris.every(isLoopback) && { scopes: ['tree.read'] }
   */
  readonly accept: (
    metadata: ClientMetadata,
    req: Request,
  ) => RegistrationGrant | false | Promise<RegistrationGrant | false>
  /** Registrations per address and hour; an IPv6 address counts by its /56: 1 to 10,000. Default 20. */
  readonly perAddress?: number | undefined
  /** Registrations per hour from all addresses: 1 to 1,000,000. Default 1,000. */
  readonly perHour?: number | undefined
  /**
   * Seconds from an app's last token for a user until its registration expires: 3,600 to 34,560,000. Default 2,592,000,
   * 30 days. An app without a user expires after an hour.
   */
  readonly lifetimeSec?: number | undefined
}

/** The options with their defaults. */
export type RegistrationSettings = Complete<RegistrationOptions>
