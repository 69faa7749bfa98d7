import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { type KeyObject, generateKeyPairSync } from 'node:crypto'
import { it } from 'node:test'
import { promisify } from 'node:util'
import { keyFromMaterial } from '../../../lib/bearer/keys/verify-key'
import { clientPublicKey, signingPrivateKey } from '../../../lib/oauth/keys/signing-algorithm'
import { TYPESCRIPT, programOf } from '../../support/typescript'

const NODE_20 = process.version.startsWith('v20.')

it('a key that was just generated is read while its generator is collected', async () => {
  const args = [...TYPESCRIPT, '--max-semi-space-size=1', programOf(__dirname, 'fresh-keys')]
  await promisify(execFile)(process.execPath, args, { timeout: 100_000 }) // takes two seconds, or for ever
})

it(`a key that an app gives is ${NODE_20 ? 'copied' : 'taken as it is'}`, () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const taken: [KeyObject, KeyObject][] = [
    [privateKey, signingPrivateKey(privateKey)],
    [publicKey, clientPublicKey('publicKeys', publicKey)],
    [publicKey, keyFromMaterial(publicKey, ['RS256']).key],
  ]
  for (const [given, own] of taken) {
    assert.equal(own !== given, NODE_20)
    assert.ok(own.equals(given))
  }
})
