// Reads keys that were just generated. Started by a spec with little memory for young objects, so that V8 collects often,
// and what generated a key while it is read.
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { publicSigningJwk, signingAlgorithm, signingPrivateKey } from '../../../lib/oauth/keys/signing-algorithm'

/** Of each key, so that most collections come while one is read. */
const READINGS = 40

for (let keys = 0; keys < 1_000; keys++) {
  const key = signingPrivateKey(generateKeyPairSync('ed25519').privateKey)
  for (let i = 0; i < READINGS; i++) publicSigningJwk(createPublicKey(key), signingAlgorithm(key))
}
