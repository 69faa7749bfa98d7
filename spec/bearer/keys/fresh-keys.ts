// Reads keys, whose generators are collected meanwhile, until the time is long enough to show that none of it stops for
// ever. Started by a spec with little memory for what is young.
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { keyFromMaterial } from '../../../lib/bearer/keys/verify-key'
import { publicSigningJwk, signingAlgorithm, signingPrivateKey } from '../../../lib/oauth/keys/signing-algorithm'

/** So often that a generator is collected while its key is read. */
const READ = 40

for (let keys = 0; keys < 1_000; keys++) {
  const key = signingPrivateKey(generateKeyPairSync('ed25519').privateKey)
  for (let i = 0; i < READ; i++) publicSigningJwk(createPublicKey(key), signingAlgorithm(key))
}
for (let keys = 0; keys < 100; keys++) {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  for (let i = 0; i < READ; i++) keyFromMaterial(publicKey, ['ES256'])
}
