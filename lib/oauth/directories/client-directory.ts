import { isScope } from '../../bearer/session/scope'
import { optionError, registrationError } from '../../http/help'
import { optionNames, optionOneOf, optionType, shown, shownNames } from '../../http/options'
import type { Client, ClientDirectory } from './client'
import { type UriPolicy, redirectUriFault } from './redirect-uri'
import { type PublicKeyInput, clientPublicKey } from '../keys/signing-algorithm'
import { warnOnce } from '../../http/warn-once'
import { hashOf } from '../../http/secret'
import { looksHashed } from './password'
import { METADATA_HINTS } from '../options-of-other-servers'

/** An app to register: a {@link Client} with its plain secret or keys. */
export interface ClientRegistration extends Omit<Client, 'secretHash'> {
  /**
   * Stored as its SHA-256, so it must be random: `openssl rand -base64 32`. A list of two takes either, so that a secret
   * can be replaced.
   */
  readonly secret?: string | readonly string[] | undefined
  /** Up to two public keys, so that one can be replaced: RSA of 2,048 to 4,096 bits, EC on P-256, or Ed25519. */
  readonly publicKeys?: readonly PublicKeyInput[] | undefined
}

/** Options of {@link clientDirectory}. */
export interface ClientDirectoryOptions {
  /** Takes `http` redirect URIs of any host. Default: of localhost, and with a warning of names and addresses of a local network. */
  readonly allowHttp?: boolean | undefined
}

const GRANT_NAMES = ['authorization_code', 'refresh_token', 'client_credentials', 'unauthenticated_session']
const BOOLEANS = ['requirePushedRequests', 'requireDpop', 'requirePkce', 'plainPkce', 'anyLocalhostPort']
const LISTS = [
  ...['redirectUris', 'postLogoutRedirectUris', 'grants', 'scopes', 'defaultScope', 'publicKeys', 'onwardOrigins'],
  ...['audiences', 'responseTypes', 'identityScopes'],
]
const FIELDS = [
  ...['clientId', 'name', 'secret', 'approval', 'introspection', 'realm', 'backchannelLogoutUri'],
  ...BOOLEANS,
  ...LISTS,
]
/** Of a {@link Client}. */
export const CLIENT_FIELDS = ['secretHash', ...FIELDS.filter((field) => field !== 'secret')]
/** An origin, or a custom scheme. */
const ONWARD = /^(https?:\/\/[a-z0-9_.-]+(:\d+)?|(?!(https?|data|blob|javascript):)[a-z][a-z0-9+.-]*:)$/

/**
 * Keeps the registered apps in memory.
 *
 * @example clientDirectory([{ clientId: 'family-app', name: 'Family App', redirectUris: ['https://app.example.com/cb'] }])
 * @throws {TypeError} naming the app and the field, if a registration is invalid or a `clientId` is repeated
 */
export function clientDirectory(
  registrations: readonly ClientRegistration[],
  options: ClientDirectoryOptions = {},
): ClientDirectory {
  if (!Array.isArray(registrations)) {
    throw registrationError(`clientDirectory takes an array of apps; received ${shownNames(registrations)}`)
  }
  optionNames('clientDirectory', options, ['allowHttp'])
  optionType('allowHttp', options.allowHttp, 'boolean')
  const clients = new Map<string, Client>()
  for (const registration of registrations as readonly ClientRegistration[]) {
    const client = registeredClient(registration, { http: options.allowHttp ? 'any' : 'inner' })
    if (clients.has(client.clientId)) throw registrationError(`clientDirectory: ${client.clientId} is registered twice`)
    clients.set(client.clientId, client)
  }
  const scopes = [...clients.values()].flatMap(({ scopes = [] }) => scopes)
  return { findClient: (clientId) => Promise.resolve(clients.get(clientId)), scopes: [...new Set(scopes)] }
}

/**
 * Checks a registration.
 *
 * @param policy which redirect URIs it may have
 * @throws {TypeError} naming the app and the field
 */
export function registeredClient(registration: ClientRegistration, policy: UriPolicy): Client {
  optionNames('an app in clientDirectory', registration, FIELDS, METADATA_HINTS)
  const { secret, publicKeys, ...fields } = registration
  const { clientId, name, redirectUris = [], postLogoutRedirectUris = [], grants = [] } = fields
  const { scopes = [], identityScopes = [], defaultScope = [] } = fields
  if (typeof clientId !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(clientId)) {
    throw registrationError(
      `clientId must be 1 to 255 printable ASCII characters without a space; received ${shown(clientId)}`,
    )
  }
  const of = (field: string) => `${field} of ${clientId}`
  if (typeof name !== 'string' || name.trim() === '')
    throw registrationError(`${of('name')} must be a string that is not empty`)
  checkLists(registration, of)
  for (const [list, uris] of Object.entries({ redirectUris, postLogoutRedirectUris })) {
    for (const uri of uris) {
      const fault = redirectUriFault(uri, policy)
      if (fault !== undefined) throw registrationError(`${of(list)} ${fault}; received ${shown(uri)}`)
      if (policy.http === 'inner' && redirectUriFault(uri) !== undefined) warnOfHttp(uri)
    }
  }
  const { backchannelLogoutUri: backchannel } = fields
  const fault = backchannel === undefined ? undefined : redirectUriFault(backchannel, policy)
  if (fault !== undefined || (backchannel !== undefined && !/^https?:/.test(backchannel))) {
    throw registrationError(`${of('backchannelLogoutUri')} ${fault ?? 'must be https'}; received ${shown(backchannel)}`)
  }
  for (const grant of grants) {
    if (!GRANT_NAMES.includes(grant))
      throw registrationError(`${of('grants')} holds ${shown(grant)}; must be one of ${GRANT_NAMES.join(', ')}`)
  }
  for (const [list, tokens] of Object.entries({ scopes, identityScopes, defaultScope })) {
    for (const scope of tokens as readonly unknown[]) {
      if (!isScope(scope)) throw registrationError(`${of(list)} holds ${shown(scope)}: RFC 6749 §3.3`)
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
  for (const field of BOOLEANS) optionType(of(field), fields[field as 'requirePkce'], 'boolean')
  if (fields.approval !== undefined) optionOneOf(of('approval'), fields.approval, ['ask', 'auto'])
  if (fields.introspection !== undefined)
    optionOneOf(of('introspection'), fields.introspection, ['own', 'audience', 'all'])
  if (fields.audiences && !isAudienceList(fields.audiences)) {
    throw optionError(`${of('audiences')} must be a list of at least one audience; received ${shown(fields.audiences)}`)
  }
  for (const type of fields.responseTypes ?? []) optionOneOf(of('responseTypes'), type, ['code', 'id_token'])
  const secrets = secret === undefined ? [] : [secret].flat()
  for (const one of secrets as readonly unknown[]) {
    if (typeof one !== 'string' || one === '') {
      throw registrationError(`${of('secret')} must be a string that is not empty`)
    }
    if (!looksHashed(one)) continue
    throw registrationError(`${of('secret')} is a hash, and secret takes the plain text: openssl rand -base64 32`)
  }
  if (secrets.length > 2) throw registrationError(`${of('secret')} must be at most two`)
  if (publicKeys && publicKeys.length > 2) throw registrationError(`${of('publicKeys')} must be at most two`)
  if (grants.includes('client_credentials') && secrets.length === 0 && !publicKeys?.length) {
    throw registrationError(
      `${of('grants')} holds client_credentials, which needs a secret or publicKeys (RFC 6749 §4.4)`,
    )
  }
  return {
    ...fields,
    ...(secrets.length > 0 && { secretHash: secrets.map(hashOf) }),
    ...(publicKeys && { publicKeys: publicKeys.map((key) => clientPublicKey(of('publicKeys'), key)) }),
  }
}

/** @throws {TypeError} naming the app and the field, if one that must be a list is not */
export function checkLists(client: object, of: (field: string) => string): void {
  for (const list of LISTS) {
    const value = (client as Readonly<Record<string, unknown>>)[list]
    if (value === undefined || Array.isArray(value)) continue
    // Never print a key: it may be private.
    throw registrationError(`${of(list)} must be an array${list === 'publicKeys' ? '' : `; received ${shown(value)}`}`)
  }
}

function warnOfHttp(uri: string): void {
  warnOnce(
    'TOLLGATE_HTTP',
    `the redirect URI ${shown(uri)} is http on a local network, where codes travel unencrypted. In production use https; ` +
      'allowHttp: true says that this network may be trusted',
  )
}

export function isAudienceList(audiences: unknown): boolean {
  const isList = Array.isArray(audiences) && audiences.length > 0
  return isList && audiences.every((audience) => typeof audience === 'string' && audience !== '')
}
