import crypto, { type KeyObject, generateKeyPairSync } from 'node:crypto'
import { after, before, mock } from 'node:test'
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

/** Gives lib/ three RSA keys by turns until the suite ends. To make one takes a tenth of a second. */
export function fewRsaKeys(): void {
  before(() => {
    const make = generateKeyPairSync as (...args: unknown[]) => unknown
    const pairs = [generateKeys('rsa'), generateKeys('rsa'), generateKeys('rsa')]
    let n = 0
    mock.method(crypto, 'generateKeyPairSync', (...args: unknown[]) =>
      args[0] === 'rsa' ? pairs[n++ % 3] : make(...args),
    )
  })
  after(() => mock.restoreAll())
}
