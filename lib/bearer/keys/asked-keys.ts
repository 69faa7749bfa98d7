import { CallLine } from '../../http/fetch/call-line'
import type { Clock } from '../../http/clock'
import type { FindKey, KeyMaterial } from './key-options'
import { type FoundKeys, type KeyNames, type KeySource, findKeys, keySet } from './key-source'
import type { VerifyKey } from './verify-key'

const KEPT_MS = 3_600_000
const MOST_KEPT = 100

/**
 * Keys that a function of the app finds. Each is kept for an hour; the oldest of a hundred makes room. Anybody can name a
 * `kid`, so the function is called a bounded number of times at once.
 *
 * @param keyOf makes a key of what the function returned; throws if it is none
 */
export function askedKeys(find: FindKey, keyOf: (material: KeyMaterial) => VerifyKey, clock: Clock): KeySource {
  const line = new CallLine(clock)
  const known = new Map<string | undefined, { readonly key: VerifyKey; readonly until: number }>()
  const current = () => [...known.values()].filter(({ until }) => clock.now() < until).map(({ key }) => key)

  return {
    find(token) {
      const kept = known.get(token.kid)
      return kept && clock.now() < kept.until ? findKeys(keySet([kept.key]), token) : ask(token)
    },
    findOther: () => undefined,
    has: (key) => current().includes(key),
    ready: () => Promise.resolve(),
    reload: () => Promise.resolve(known.clear()),
    all: current,
  }

  async function ask(token: KeyNames): Promise<FoundKeys> {
    const { kid } = token
    let material: KeyMaterial | undefined | null = null
    try {
      material = await line.run(async () => (await find(kid)) ?? null) // undefined: too many calls
    } catch (cause) {
      return { refused: 'keys_unavailable', retryAfterSec: 1, cause }
    }
    if (material === undefined) return { refused: 'keys_unavailable', retryAfterSec: 1 }
    if (material === null) return { refused: 'unknown_key' }
    try {
      const key = keyOf(material)
      known.delete(kid)
      known.set(kid, { key, until: clock.now() + KEPT_MS })
      if (known.size > MOST_KEPT) known.delete([...known.keys()][0])
      return findKeys(keySet([key]), token)
    } catch (cause) {
      return { refused: 'unknown_key', cause }
    }
  }
}
