import type { Request } from 'express'
import type { Client } from './directories/client'
import type { ClientMetadata } from './parameters/client-metadata'

/** What the app grants to one that registers itself. */
export type RegistrationGrant = Partial<
  Pick<Client, 'realm' | 'scopes' | 'audiences' | 'onwardOrigins' | 'requireDpop'>
>

/** Lets apps register themselves (RFC 7591). */
export interface RegistrationOptions {
  /**
   * Decides about each registration, and what the app may ask for; false refuses. An initial access token (RFC 7591 §3) is
   * this function's to check.
   *
   * @example accept: ({ redirect_uris }) => redirect_uris.every(isLoopback) && { scopes: ['tree.read'] }
   */
  readonly accept: (
    metadata: ClientMetadata,
    req: Request,
  ) => RegistrationGrant | false | Promise<RegistrationGrant | false>
  /** Registrations per address and hour; an IPv6 address counts by its /56: 1 to 10,000. Default 20. */
  readonly perAddress?: number
  /** Registrations per hour from all addresses: 1 to 1,000,000. Default 1,000. */
  readonly perHour?: number
  /**
   * An app that gets no user's tokens for so many seconds is forgotten: 3,600 to 34,560,000. Default 2,592,000, 30 days.
   * One to which no user has signed in yet is forgotten after an hour.
   */
  readonly lifetimeSec?: number
}

/** The options with their defaults. */
export type RegistrationSettings = Required<RegistrationOptions>
