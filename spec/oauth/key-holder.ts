import { createHash, randomUUID } from 'node:crypto'
import { type JWK, SignJWT, calculateJwkThumbprint, exportJWK } from 'jose'
import type { ManualClock } from '../../lib/testing'
import { generateKeys } from '../support/generate-keys'

/** A client with a key of its own, which it proves by DPoP (RFC 9449). */
export interface KeyHolder {
  readonly jwk: JWK
  readonly jkt: string
  /** @param claims replace or extend those of a valid proof; undefined leaves one out */
  proof(url: string, claims?: Record<string, unknown>, method?: string, header?: object): Promise<string>
}

export async function keyHolder(clock: ManualClock, alg: 'ES256' | 'EdDSA' = 'ES256'): Promise<KeyHolder> {
  const { publicKey, privateKey } = generateKeys(alg === 'ES256' ? 'ec' : 'ed25519')
  const jwk = await exportJWK(publicKey)
  return {
    jwk,
    jkt: await calculateJwkThumbprint(jwk),
    proof: (htu, claims = {}, htm = 'POST', header = {}) =>
      new SignJWT({ jti: randomUUID(), htm, htu, iat: Math.floor(clock.date() / 1_000), ...claims })
        .setProtectedHeader({ typ: 'dpop+jwt', alg, jwk, ...header })
        .sign(privateKey),
  }
}

/** The claim `ath` of a proof that goes with an access token (RFC 9449 §4.2). */
export function ath(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}
