import type { KeyObject } from 'node:crypto'
import type { Request } from 'express'
import { FetchProblem } from '../../http/fetch/fetch-json'
import type { JsonObject } from '../../http/json'
import type { SelfRegisteredClient } from '../directories/client'
import { isDocumentUrl } from '../directories/document-url'
import type { IdentityScopes } from '../identity-scopes'
import { readPublicJwks } from '../keys/public-jwks'
import { OAuthError } from '../oauth-error'
import { invalidMetadata, readClientMetadata } from '../parameters/client-metadata'
import type { RegistrationSettings } from '../server-settings'
import { AGAIN_MS, type StrangerDocuments } from './stranger-documents'
import { selfRegisteredClient } from './self-registered-client'

/**
 * Apps whose `client_id` is the URL of their metadata (draft-ietf-oauth-client-id-metadata-document), and the keys of apps
 * that have a `jwks_uri`.
 */
export class ClientDocuments {
  constructor(
    private readonly registration: RegistrationSettings,
    private readonly identity: IdentityScopes,
    private readonly documents: StrangerDocuments,
  ) {}

  /**
   * The app, or undefined if its id is no URL of a document.
   *
   * @throws {OAuthError} invalid_client with the reason if the document says something wrong, or `accept` refuses the app;
   *   503 or 429 if the document cannot be fetched now
   */
  async find(clientId: string, req: Request): Promise<SelfRegisteredClient | undefined> {
    if (!isDocumentUrl(clientId)) return undefined
    const usable = async <T>(read: () => T | Promise<T>) => {
      try {
        return await read()
      } catch (err) {
        if (!(err instanceof OAuthError)) throw err
        throw new OAuthError('invalid_client', 'The metadata document of this app cannot be used.').because(err.message)
      }
    }
    const metadata = await this.documents.find('app', clientId, req, (body) => {
      if (body.client_id !== clientId) throw new FetchProblem(`the client_id in ${clientId} is another`)
      return usable(() => this.metadataOf(clientId, body))
    })
    // For each request: what `accept` says of one must count for no other.
    return usable(() => selfRegisteredClient(this.registration, this.identity, clientId, metadata, req))
  }

  /**
   * The keys at the `jwks_uri` of an app.
   *
   * @param isAgain a signature fits none of them: they are fetched again, at most every 30 s
   * @throws {OAuthError} 503 or 429 if they cannot be fetched now
   */
  keysAt(jwksUri: string, req: Request, isAgain: boolean): Promise<readonly KeyObject[]> {
    const read = (body: JsonObject) => {
      const keys = readPublicJwks(body).map(({ key }) => key)
      if (keys.length === 0) throw new FetchProblem(`${jwksUri} has no public key of RSA, EC P-256 or Ed25519`)
      return keys
    }
    return this.documents.find('keys', jwksUri, req, read, isAgain ? AGAIN_MS : Infinity)
  }

  private metadataOf(clientId: string, body: JsonObject) {
    const { uris } = this.registration
    const metadata = readClientMetadata({ token_endpoint_auth_method: 'none', ...body }, uris)
    const method = metadata.token_endpoint_auth_method
    if (method.startsWith('client_secret') || 'client_secret' in body) {
      throw invalidMetadata(`The app of ${clientId} can keep no secret: use none or private_key_jwt.`)
    }
    return { ...metadata, client_id: clientId }
  }
}
