import { isUtf8 } from 'node:buffer'
import type { KeyObject } from 'node:crypto'
import type { Request } from 'express'
import { fieldValues } from '../../bearer/credentials/credentials'
import type { Clock } from '../../http/clock'
import { shown } from '../../http/options'
import { hashOf, sameSecret } from '../../http/secret'
import { type KnownClient, isConfidential } from '../directories/client'
import type { KnownClients } from '../clients/known-clients'
import { OAuthError, invalidRequest } from '../oauth-error'
import type { Params } from '../parameters/params'
import { ofApp } from '../records/owners'
import type { Records } from '../records/records'
import { ASSERTION_MS, type Assertion, JWT_BEARER, readAssertion, verifiedJti } from './assertion'
import { TIMESTAMP_TOLERANCE_MS, TimestampSecrets } from './timestamp-secret'
import { knownUrl } from '../../http/url'

/** The client authentication methods, for the discovery document. */
export const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'] as const

/** The endpoints that clients authenticate at. */
const ENDPOINTS = ['/token', '/par', '/introspect', '/revoke']
const PARAMS = ['client_id', 'client_secret', 'client_assertion', 'client_assertion_type']

/** What a client authenticates with. A secret may be read in two ways: see {@link readBasic}. */
interface Credentials {
  readonly clientId: string
  readonly secrets?: readonly string[]
  readonly assertion?: Assertion
}

/**
 * Authenticates the clients of requests (RFC 6749 §2.3, §3.2.1) by `client_secret_basic`, `client_secret_post`, an RSA
 * timestamp secret or `private_key_jwt`. A public client only names itself.
 */
export class ClientAuthentication {
  private readonly timestampSecrets = new TimestampSecrets()

  constructor(
    private readonly issuer: string,
    private readonly clients: KnownClients,
    private readonly records: Records,
    private readonly clock: Clock,
  ) {}

  /**
   * @param path the endpoint's, below the issuer
   * @throws {OAuthError} 401 invalid_client, or 400 invalid_request if the request uses more than one method
   */
  async authenticate(req: Request, params: Params, path: string): Promise<KnownClient> {
    // Two `Authorization` fields: Node keeps the first, and a proxy in front may have checked the other.
    const [given, ...more] = fieldValues(req, 'authorization')
    if (more.length > 0) throw invalidRequest('The request has more than one Authorization header field.')
    // An interceptor of the app adds its access token to every request: that is no authentication of a client.
    const field = given !== undefined && /^(bearer|dpop)( |$)/i.test(given) ? undefined : given
    const readings = credentialsOf(params, field)
    if (typeof readings === 'string') throw this.refused(given, readings)
    // Later readings may hold a part of the secret.
    let reason = `client_id ${shown(readings[0]?.clientId)} is unknown`
    for (const credentials of readings) {
      const client = await this.clients.find(credentials.clientId, req)
      if (client && (await this.isRight(client, credentials, path, req))) return client
      if (client) {
        reason = `the credentials of ${shown(client.clientId)} are wrong, missing, or of another kind than registered`
      }
    }
    throw this.refused(given, reason)
  }

  private async isRight(client: KnownClient, { secrets, assertion }: Credentials, path: string, req: Request) {
    const { clientId, secretHash = [], publicKeys = [] } = client
    if (assertion !== undefined) {
      const own = [this.issuer, ...ENDPOINTS.map((endpoint) => this.issuer + endpoint)]
      const wanted = [this.issuer, `${this.issuer}/token`, this.issuer + path]
      const read = (keys: readonly KeyObject[]) =>
        verifiedJti(assertion, clientId, keys, { own, wanted }, this.clock.date() / 1_000)
      const isElsewhere = client.jwksUri !== undefined // the app may have replaced its keys there
      const found = read(await this.clients.keysOf(client, req))
      const jti = found ?? (isElsewhere ? read(await this.clients.keysOf(client, req, true)) : undefined)
      return jti !== undefined && this.isFirstUse(client, `jwt ${jti}`, ASSERTION_MS)
    }
    if (secrets === undefined) return !isConfidential(client)
    const hashes = [secretHash].flat()
    if (secrets.some((secret) => hashes.some((known) => sameSecret(hashOf(secret), known)))) return true
    for (const secret of secrets) {
      const time = await this.timestampSecrets.timeOf(secret, publicKeys, this.clock.date())
      if (time === undefined) continue
      return this.isFirstUse(client, `timestamp ${time}`, 2 * TIMESTAMP_TOLERANCE_MS)
    }
    return false
  }

  /** Whether no process has seen this proof before: each is single-use. */
  private isFirstUse(client: KnownClient, proof: string, rememberMs: number): Promise<boolean> {
    const id = hashOf(`${client.clientId} ${proof}`)
    return this.records.isNew('assertion', id, rememberMs, ofApp(client))
  }

  /** A challenge only where the client tried that scheme: a browser would ask its user for a password (RFC 6749 §5.2). */
  private refused(field: string | undefined, reason: string): OAuthError {
    const challenge = { 'WWW-Authenticate': `Basic realm="${knownUrl(this.issuer).host}"` }
    const message = 'The client is unknown or its authentication failed.'
    return new OAuthError('invalid_client', message, 401, field === undefined ? {} : challenge).because(reason)
  }
}

/** Every reading of the request's credentials, or why there is none. */
function credentialsOf(params: Params, field: string | undefined): readonly Credentials[] | string {
  params.refuseRepeated(PARAMS)
  const clientId = params.get('client_id')
  // Of the clients without a secret, one sends a space and another an empty value.
  const given = params.get('client_secret')
  const secret = given?.trim() === '' ? undefined : given
  const jwt = params.get('client_assertion')
  if ([secret, jwt, field].filter((method) => method !== undefined).length > 1) {
    throw invalidRequest('The client must authenticate in one way only (RFC 6749 section 2.3).')
  }
  if (field !== undefined) {
    const basic = readBasic(field)
    if (basic.length === 0) return 'the Authorization field is not that of Basic authentication (RFC 7617)'
    const named = basic.filter((reading) => clientId === undefined || clientId === reading.clientId)
    if (named.length === 0) return 'the client_id is another in the body than in the field'
    return named.map(({ clientId, secrets }) => (secrets[0] === '' ? { clientId } : { clientId, secrets }))
  }
  if (jwt !== undefined) {
    if (params.get('client_assertion_type') !== JWT_BEARER)
      throw invalidRequest('The client_assertion_type is unknown.')
    const assertion = readAssertion(jwt)
    if (assertion === undefined || (clientId !== undefined && clientId !== assertion.clientId)) {
      return 'the client_assertion names no client, or another than client_id does'
    }
    return [{ clientId: assertion.clientId, assertion }]
  }
  if (clientId === undefined) return 'the request names no client'
  return [{ clientId, ...(secret !== undefined && { secrets: [secret] }) }]
}

/** How many colons are tried as the one that ends the client id. Each costs two look-ups. */
const MOST_COLONS = 4

/**
 * Reads an `Authorization: Basic` field: canonical base64 of UTF-8, or else of ISO 8859-1, which some libraries send. Both
 * halves are form-encoded (RFC 6749 §2.3.1), but many libraries do not encode them. A secret of base64 then has a `+`, and
 * a client id that is a URL has colons. So a field has several readings; a malformed one has none.
 */
function readBasic(field: string): readonly (Credentials & { readonly secrets: readonly string[] })[] {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(field)?.[1]
  if (encoded === undefined) return []
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) return []
  const parts = bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1').split(':')
  return parts.slice(0, Math.min(MOST_COLONS, parts.length - 1)).flatMap((_, at) => {
    const [id, secret] = [parts.slice(0, at + 1).join(':'), parts.slice(at + 1).join(':')]
    if (id === '') return []
    return readings(id).map((clientId) => ({ clientId, secrets: readings(secret) }))
  })
}

function readings(text: string): readonly string[] {
  try {
    return [...new Set([decodeURIComponent(text.replaceAll('+', ' ')), text])]
  } catch {
    return [text] // a percent sign that encodes nothing
  }
}
