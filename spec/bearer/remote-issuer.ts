import type { BearerOptions } from '../../lib'
import { ASYMMETRIC } from '../../lib/bearer/keys/algorithm'
import { type RemoteKeysOptions, remoteKeys } from '../../lib/bearer/keys/remote-keys'
import { manualClock } from '../../lib/testing'
import { keyPair, serveIssuer } from '../support/issuer'
import { apiOf } from './api'

export const a = keyPair('a')
export const b = keyPair('b')

/** An API that asks an issuer for its keys. */
export const api = (options: BearerOptions) => apiOf({ audience: 'api', ...options })

/** The key source alone, on a clock that stands still. */
export async function source(lastGoodMs = 3_600_000, more: Partial<RemoteKeysOptions> = {}) {
  const clock = manualClock()
  const served = await serveIssuer(a)
  const keys = remoteKeys({
    locate: () => `${served.issuer}/keys`,
    algorithms: ASYMMETRIC,
    clock,
    lastGoodMs,
    random: () => 0,
    ...more,
  })
  const ask = (kid: string, algorithm = 'ES256') => keys.find({ kid, algorithm, header: {} })
  const find = async (kid: string) => {
    const found = await ask(kid)
    return 'refused' in found ? found.refused : found[0]?.kid
  }
  return { ...served, clock, keys, ask, find }
}
