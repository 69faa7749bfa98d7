import { optionError, registrationError } from '../../http/help'
import { optionNames, optionOneOf, optionType, shown } from '../../http/options'
import type { Client, ClientDirectory, GrantName } from './client'
import { type SchemePolicy, redirectUriFault } from './redirect-uri'
import { type RsaKeyInput, rsaPublicKey } from '../keys/rsa-key'
import { hashOf } from '../../http/secret'
import { looksHashed } from './password'

/** An app to register: a {@link Client} with its plain secret or keys. */
export interface ClientRegistration extends Omit<Client, 'secretHash' | 'publicKeys'> {
  /** Stored as its SHA-256, so it must be random: `openssl rand -base64 32`. */
  readonly secret?: string | undefined
  /** Up to two RSA public keys of 2,048 to 4,096 bits, so that a key can be rotated. */
  readonly publicKeys?: readonly RsaKeyInput[] | undefined
}

const GRANT_NAMES: readonly GrantName[] = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'unauthenticated_session',
]
const FIELDS = [
  'clientId',
  'name',
  'redirectUris',
  'postLogoutRedirectUris',
  'realm',
  'secret',
  'publicKeys',
  'grants',
  'scopes',
  'audiences',
  'responseTypes',
  'requirePushedRequests',
  'requireDpop',
  'requirePkce',
  'plainPkce',
  'onwardOrigins',
  'identityScopes',
  'approval',
  'anyLocalhostPort',
]
const LISTS = [
  'redirectUris',
  'postLogoutRedirectUris',
  'grants',
  'scopes',
  'publicKeys',
  'onwardOrigins',
  'audiences',
  'responseTypes',
  'identityScopes',
] as const
/** An origin, or a custom scheme. */
const ONWARD = /^(https?:\/\/[a-z0-9_.-]+(:\d+)?|(?!(https?|data|blob|javascript):)[a-z][a-z0-9+.-]*:)$/

/**
 * Keeps the registered apps in memory.
 *
 * @example clientDirectory([{ clientId: 'family-app', name: 'Family App', redirectUris: ['https://app.example.com/cb'] }])
 * @throws {TypeError} naming the app and the field, if a registration is invalid or a `clientId` is repeated
 */
export function clientDirectory(registrations: readonly ClientRegistration[]): ClientDirectory {
  if (!Array.isArray(registrations)) {
    throw registrationError(`clientDirectory takes an array of apps; received ${shown(registrations)}`)
  }
  const clients = new Map<string, Client>()
  for (const registration of registrations as readonly ClientRegistration[]) {
    const client = registeredClient(registration)
    if (clients.has(client.clientId)) throw registrationError(`clientDirectory: ${client.clientId} is registered twice`)
    clients.set(client.clientId, client)
  }
  return { findClient: (clientId) => Promise.resolve(clients.get(clientId)) }
}

/**
 * Checks a registration.
 *
 * @param schemes which custom schemes its redirect URIs may have
 * @throws {TypeError} naming the app and the field
 */
export function registeredClient(registration: ClientRegistration, schemes?: SchemePolicy): Client {
  optionNames('an app in clientDirectory', registration, FIELDS)
  const { secret, publicKeys, ...fields } = registration
  const { clientId, name, redirectUris = [], postLogoutRedirectUris = [], grants, scopes = [] } = fields
  if (typeof clientId !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(clientId)) {
    throw registrationError(
      `clientId must be 1 to 255 printable ASCII characters without a space; received ${shown(clientId)}`,
    )
  }
  const of = (field: string) => `${field} of ${clientId}`
  if (typeof name !== 'string' || name.trim() === '')
    throw registrationError(`${of('name')} must be a string that is not empty`)
  for (const list of LISTS) {
    if (registration[list] === undefined || Array.isArray(registration[list])) continue
    // Never print a key: it may be private.
    throw registrationError(
      `${of(list)} must be an array${list === 'publicKeys' ? '' : `; received ${shown(registration[list])}`}`,
    )
  }
  for (const [list, uris] of Object.entries({ redirectUris, postLogoutRedirectUris })) {
    for (const uri of uris) {
      const fault = redirectUriFault(uri, schemes)
      if (fault !== undefined) throw registrationError(`${of(list)} ${fault}; received ${shown(uri)}`)
    }
  }
  for (const grant of grants ?? []) {
    if (!GRANT_NAMES.includes(grant))
      throw registrationError(`${of('grants')} holds ${shown(grant)}; must be one of ${GRANT_NAMES.join(', ')}`)
  }
  for (const [list, tokens] of Object.entries({ scopes, identityScopes: fields.identityScopes ?? [] })) {
    for (const scope of tokens) {
      if (typeof scope !== 'string' || !/^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope))
        throw registrationError(`${of(list)} holds ${shown(scope)}: RFC 6749 §3.3`)
    }
  }
  for (const origin of fields.onwardOrigins ?? []) {
    if (typeof origin !== 'string' || !ONWARD.test(origin)) {
      throw registrationError(
        `${of('onwardOrigins')} must be origins or schemes, such as https://app.example.com or vscode:; ` +
          `received ${shown(origin)}`,
      )
    }
  }
  optionType(of('realm'), fields.realm, 'string')
  optionType(of('requirePkce'), fields.requirePkce, 'boolean')
  optionType(of('plainPkce'), fields.plainPkce, 'boolean')
  optionType(of('requirePushedRequests'), fields.requirePushedRequests, 'boolean')
  optionType(of('requireDpop'), fields.requireDpop, 'boolean')
  optionType(of('anyLocalhostPort'), fields.anyLocalhostPort, 'boolean')
  if (fields.approval !== undefined) optionOneOf(of('approval'), fields.approval, ['ask', 'auto'])
  if (fields.audiences) checkAudiences(of('audiences'), fields.audiences)
  for (const type of fields.responseTypes ?? []) optionOneOf(of('responseTypes'), type, ['code', 'id_token'])
  if (secret !== undefined && (typeof secret !== 'string' || secret === '')) {
    throw registrationError(`${of('secret')} must be a string that is not empty`)
  }
  if (secret !== undefined && looksHashed(secret)) {
    throw registrationError(`${of('secret')} is a hash, and secret takes the plain text: openssl rand -base64 32`)
  }
  if (publicKeys && publicKeys.length > 2) throw registrationError(`${of('publicKeys')} must be at most two`)
  if (grants?.includes('client_credentials') && secret === undefined && !publicKeys?.length) {
    throw registrationError(
      `${of('grants')} holds client_credentials, which needs a secret or publicKeys (RFC 6749 §4.4)`,
    )
  }
  return {
    ...fields,
    ...(secret !== undefined && { secretHash: hashOf(secret) }),
    ...(publicKeys && { publicKeys: publicKeys.map((key) => rsaPublicKey(of('publicKeys'), key)) }),
  }
}

/** @throws {TypeError} naming the option, unless it is a list of at least one text */
export function checkAudiences(option: string, audiences: unknown): void {
  const isList = Array.isArray(audiences) && audiences.length > 0
  if (isList && audiences.every((audience) => typeof audience === 'string' && audience !== '')) return
  throw optionError(`${option} must be a list of at least one audience; received ${shown(audiences)}`)
}
