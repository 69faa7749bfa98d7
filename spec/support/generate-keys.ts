import crypto, { type KeyObject, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { after, before, mock } from 'node:test'
import { ownKey } from '../../lib/bearer/keys/own-key'

export interface Keys {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

type Kind = 'rsa' | 'rsa-pss' | 'ec' | 'ed25519' | 'ed448' | 'x25519'

/** RSA keys that `npm test` has made. */
const MADE = JSON.parse(process.env.SPEC_RSA_KEYS ?? '[]') as string[]
let given = 2 // those of oauth/support.ts

/**
 * A pair of keys that a spec may export as JWK on any Node, and that no other call in this process gets. RSA has 2,048
 * bits, and most of its keys were made before.
 */
export function generateKeys(kind: Kind, namedCurve = 'P-256'): Keys {
  const made = kind === 'rsa' ? MADE[given++] : undefined
  if (made !== undefined) {
    return { publicKey: ownKey(createPublicKey(made)), privateKey: ownKey(createPrivateKey(made)) }
  }
  const options = { modulusLength: 2_048, namedCurve }
  // The declarations have an overload for each kind.
  const { publicKey, privateKey } = generateKeyPairSync(kind as 'rsa', options)
  return { publicKey: ownKey(publicKey), privateKey: ownKey(privateKey) }
}

/** Gives lib/ three RSA keys by turns until the suite ends. */
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
