import { type KeyObject, generateKeyPairSync } from 'node:crypto'
import { ownKey } from '../../lib/bearer/keys/own-key'

export interface Keys {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

type Kind = 'rsa' | 'rsa-pss' | 'ec' | 'ed25519' | 'ed448' | 'x25519'

/** A fresh pair of keys that a spec may export as JWK on any Node. RSA has 2,048 bits. */
export function generateKeys(kind: Kind, namedCurve = 'P-256'): Keys {
  const options = { modulusLength: 2_048, namedCurve }
  // The declarations have an overload for each kind.
  const { publicKey, privateKey } = generateKeyPairSync(kind as 'rsa', options)
  return { publicKey: ownKey(publicKey), privateKey: ownKey(privateKey) }
}
