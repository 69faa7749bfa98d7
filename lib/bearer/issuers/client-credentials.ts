import { KeyObject, createPrivateKey, randomUUID, sign } from 'node:crypto'
import { promisify } from 'node:util'
import type { Clock } from '../../http/clock'
import { answerOfApp } from '../../http/fetch/app-answer'
import { RemediedProblem } from '../../http/fetch/fetch-failure'
import { keyError, optionError } from '../../http/help'
import { isToken } from '../credentials/credentials'
import type { KeyMaterial } from '../keys/key-options'
import { keyMismatch } from '../keys/algorithm'
import { ownKey } from '../keys/own-key'
import { pemOf } from '../keys/pem'

/** Credentials of the API at its issuer's introspection endpoint (RFC 7662 §2.1). Give exactly one kind. */
export interface ClientCredentials {
  /** Client id of the API. */
  readonly clientId?: string | undefined
  /** Secret of the API, unencoded. */
  readonly clientSecret?: string | undefined
  /**
   * - `'basic'`: form-encoded id and secret in `Authorization` (RFC 6749 §2.3.1); the default with `clientSecret`
   * - `'post'`: `client_id` and `client_secret` in the body
   * - `'none'`: `client_id` in the body, if there is one, for public clients and endpoints inside a network
   */
  readonly clientAuth?: 'basic' | 'post' | 'none' | undefined
  /** Private key of the API for `private_key_jwt` (RFC 7523 §2.2): PEM, JWK or KeyObject; RSA, P-256 or Ed25519. */
  readonly privateKey?: KeyMaterial | undefined
  /** Function that returns a client assertion of the app's own: `async () => 'eyJ…'`. */
  readonly clientAssertion?: (() => string | Promise<string>) | undefined
  /** Function that returns the API's own access token, which the endpoint takes as `Authorization: Bearer`. */
  readonly token?: (() => string | Promise<string>) | undefined
}

/** Credentials of one request: header fields, and members of the form. */
interface Sent {
  readonly headers?: { readonly authorization: string }
  readonly form?: Readonly<Record<string, string | undefined>>
}

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
/** Lifetime of an assertion, in seconds. */
const ASSERTION_LIFE_SEC = 60
const WAYS = ['clientSecret', 'privateKey', 'clientAssertion', 'token'] as const

/**
 * Makes the function that returns the credentials of a request.
 *
 * @param issuer the audience of assertions
 * @throws {TypeError} naming the option that is missing, wrong or one too many
 */
export function clientCredentials(
  options: ClientCredentials,
  issuer: string,
  clock: Clock,
): () => Sent | Promise<Sent> {
  const { clientId, clientSecret, clientAuth, privateKey, clientAssertion, token } = options
  const given = WAYS.filter((name) => options[name] !== undefined)
  if (
    given.length > 1 ||
    (given.length === 0) !== (clientAuth === 'none') ||
    (clientAuth !== undefined && clientAuth !== 'none' && given[0] !== 'clientSecret')
  ) {
    throw optionError(
      `introspection needs one of ${WAYS.join(', ')}, or clientAuth: 'none'; received ${[...given, clientAuth && `clientAuth: '${clientAuth}'`].filter(Boolean).join(', ') || 'none of them'}`,
    )
  }
  if (clientId === undefined && (clientSecret ?? privateKey) !== undefined)
    throw optionError('introspection.clientId must be a text')
  if (clientAuth === 'none') return () => ({ form: { client_id: clientId } })
  if (token) return async () => ({ headers: { authorization: `Bearer ${await told('token', token, clock)}` } })
  if (clientAssertion) return async () => asserted(await told('clientAssertion', clientAssertion, clock))
  if (privateKey !== undefined) {
    const signed = assertions(privateKey, clientId as string, issuer, clock)
    return async () => asserted(await signed())
  }
  if (clientAuth === 'post') return () => ({ form: { client_id: clientId, client_secret: clientSecret } })
  const pair = [clientId, clientSecret].map((text) => new URLSearchParams({ '': text as string }).toString().slice(1))
  const basic = { headers: { authorization: `Basic ${Buffer.from(pair.join(':')).toString('base64')}` } }
  return () => basic

  function asserted(assertion: string): Sent {
    return { form: { client_id: clientId, client_assertion_type: ASSERTION_TYPE, client_assertion: assertion } }
  }
}

/** @throws {RemediedProblem} that does not show what the app's function returned */
async function told(name: 'token' | 'clientAssertion', ask: () => string | Promise<string>, clock: Clock) {
  const text: unknown = await answerOfApp(`introspection.${name}`, clock, ask)
  if (typeof text === 'string' && isToken(text)) return text
  const what = typeof text === 'string' ? 'a text that is no token' : `a value of the type ${typeof text}`
  throw new RemediedProblem(`the option introspection.${name} returned ${what}`, 'have it return the token as text')
}

/** Makes assertions of RFC 7523 §3, each for one request. RSA signs in libuv's thread pool. */
function assertions(material: KeyMaterial, clientId: string, issuer: string, clock: Clock): () => Promise<string> {
  const key = privateKeyOf(material)
  const kid = typeof material === 'object' && 'kid' in material ? material.kid : undefined
  const alg = (['RS256', 'ES256', 'Ed25519'] as const).find((one) => keyMismatch(one, key) === undefined)
  if (alg === undefined) {
    throw keyError('introspection.privateKey must be a P-256, an Ed25519, or an RSA key of 2,048 to 4,096 bits')
  }
  const signed = promisify<string | null, Buffer, object, Buffer>(sign as never)
  return async () => {
    const nowSec = Math.floor(clock.date() / 1_000)
    const claims = { iss: clientId, sub: clientId, aud: issuer, jti: randomUUID(), iat: nowSec }
    const parts = [
      { alg: alg === 'Ed25519' ? 'EdDSA' : alg, typ: 'JWT', kid },
      { ...claims, exp: nowSec + ASSERTION_LIFE_SEC },
    ]
    const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
    const signature = await signed(alg === 'Ed25519' ? null : 'sha256', Buffer.from(text), {
      key,
      dsaEncoding: 'ieee-p1363',
    })
    return `${text}.${signature.toString('base64url')}`
  }
}

/** @throws {TypeError} that does not show the key */
function privateKeyOf(material: KeyMaterial): KeyObject {
  try {
    const key =
      material instanceof KeyObject
        ? ownKey(material)
        : createPrivateKey(typeof material === 'string' ? pemOf(material) : { key: material, format: 'jwk' })
    if (key.type === 'private') return key
  } catch {
    // the error below says it
  }
  throw keyError('introspection.privateKey must be a private key: PEM, JWK or KeyObject')
}
