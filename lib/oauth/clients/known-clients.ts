import { KeyObject } from 'node:crypto'
import type { Request } from 'express'
import { RegisteredClients } from '../records/registered-clients'
import type { ClientDirectory, GrantName, KnownClient, SelfRegisteredClient } from '../directories/client'
import type { ClientDocuments } from './client-documents'
import { findClientRow } from '../directories/rows'
import { clientPublicKey } from '../keys/signing-algorithm'
import { knownUrl } from '../../http/url'

/** The shape of app keys. Other text, such as NUL or a megabyte, makes some databases fail. */
const CLIENT_ID = /^[\x21-\x7e]{1,255}$/

/** Finds apps: first those of the app's own directory, then strangers, where these may register themselves. */
export class KnownClients {
  /** @param defaultGrants of an app whose registration names none */
  constructor(
    private readonly directory: ClientDirectory,
    private readonly strangers:
      { readonly registered: RegisteredClients; readonly documents: ClientDocuments } | undefined,
    private readonly defaultGrants: readonly GrantName[],
  ) {}

  /** @param req the request that names the app: fetching an app's document counts against its network */
  async find(clientId: string, req: Request): Promise<KnownClient | undefined> {
    if (!CLIENT_ID.test(clientId)) return undefined
    const own = await findClientRow(this.directory, clientId)
    if (own) return this.known(own, false)
    const registered = await this.strangers?.registered.find(clientId)
    if (registered) return this.known(registered.client, true)
    const published = await this.strangers?.documents.find(clientId, req)
    return published && { ...this.known(published, true), source: knownUrl(clientId).host }
  }

  /**
   * The keys that an app signs with. @param isAgain a signature fits none of them: those at an address are fetched again
   *
   * @throws {OAuthError} 503 or 429 if they cannot be fetched now
   */
  async keysOf({ publicKeys = [], jwksUri }: KnownClient, req: Request, isAgain = false) {
    if (jwksUri === undefined) return publicKeys
    return (await this.strangers?.documents.keysAt(jwksUri, req, isAgain)) ?? []
  }

  private known({ publicKeys, ...client }: SelfRegisteredClient, isUnverified: boolean): KnownClient {
    const option = `publicKeys of ${client.clientId}`
    const keys = publicKeys?.map((key) => (key instanceof KeyObject ? key : clientPublicKey(option, key)))
    return { ...client, ...(keys && { publicKeys: keys }), grants: client.grants ?? this.defaultGrants, isUnverified }
  }
}
