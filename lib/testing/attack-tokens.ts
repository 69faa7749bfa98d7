import { createHmac, createPublicKey } from 'node:crypto'
import { type DevKey, makeKey, signToken } from './dev-keys'

/** A token made as an attacker would, or as one that came by a good token might use it. */
export type Attack = (typeof ATTACKS)[number]

/** All attacks of {@link Attack}. Every one of them must be refused. */
export const ATTACKS = [
  'unsigned',
  'signature-stripped',
  'signature-of-another-token',
  'claims-changed',
  'another-key',
  'embedded-key',
  'unknown-kid',
  'key-as-secret',
  'critical-header',
  'member-twice',
  'expired',
  'never-expires',
  'not-yet-valid',
  'another-issuer',
  'another-audience',
  'id-token',
  'another-type',
  'bound-to-a-key',
] as const

/** Makes the token of an attack out of what a good one says. */
export function attackToken(attack: Attack, key: DevKey, claims: Readonly<Record<string, unknown>>): string {
  const good = signToken(key, claims)
  const [header = '', payload = '', signature = ''] = good.split('.')
  const now = Number(claims.iat)
  switch (attack) {
    case 'unsigned':
      return `${encode({ alg: 'none', typ: key.typ })}.${payload}.`
    case 'signature-stripped':
      return `${header}.${payload}.`
    case 'signature-of-another-token':
      return `${header}.${payload}.${signToken(key, { ...claims, jti: 'another' }).split('.')[2]}`
    case 'claims-changed':
      return `${header}.${encode({ ...claims, sub: 'admin', scope: 'admin' })}.${signature}`
    case 'another-key':
      return signToken({ ...makeKey(key.algorithm, key.typ), jwk: key.jwk }, claims)
    case 'embedded-key': {
      const own = makeKey(key.algorithm, key.typ)
      return signToken(own, claims, { kid: key.jwk.kid, jwk: own.jwk })
    }
    case 'unknown-kid':
      return signToken(key, claims, { kid: "x' OR 1=1 --" })
    case 'key-as-secret': {
      const pem = createPublicKey({ key: key.jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
      const input = `${encode({ alg: 'HS256', typ: key.typ, kid: key.jwk.kid })}.${payload}`
      return `${input}.${createHmac('sha256', pem).update(input).digest('base64url')}`
    }
    case 'critical-header':
      return signToken(key, claims, { crit: ['exp'], exp: 1 })
    case 'member-twice': {
      const text = JSON.stringify(claims).replace('{', '{"sub":"admin",')
      const input = `${header}.${Buffer.from(text).toString('base64url')}`
      return `${input}.${signature}`
    }
    case 'expired':
      return signToken(key, { ...claims, iat: now - 7_200, exp: now - 3_600 })
    case 'never-expires':
      return signToken(key, { ...claims, exp: undefined })
    case 'not-yet-valid':
      return signToken(key, { ...claims, nbf: now + 3_600 })
    case 'another-issuer':
      return signToken(key, { ...claims, iss: 'https://evil.test' })
    case 'another-audience':
      // Where tokens have no aud, the app is what says whom they are for.
      return signToken(key, { ...claims, aud: 'https://evil.test', ...(!claims.aud && { client_id: 'another-app' }) })
    case 'id-token':
      return signToken(key, { ...claims, nonce: 'n', at_hash: 'x', cid: undefined }, { typ: 'JWT' }) // no app: Okta
    case 'another-type':
      return signToken(key, claims, { typ: 'logout+jwt' })
    case 'bound-to-a-key':
      return signToken(key, { ...claims, cnf: { jkt: 'x' } })
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
