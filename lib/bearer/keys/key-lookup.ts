import { answerOfApp } from '../../http/fetch/app-answer'
import { issuerCalls } from '../../http/fetch/issuer-calls'
import { type Clock, type Moment, momentOf, sinceMs } from '../../http/clock'
import { type ClientRequest, clientNetwork } from '../../http/request/client-network'
import { type Refusal, isRefusal } from '../refusal/refusal'
import type { FindKey, KeyMaterial } from './key-options'
import { type FoundKeys, type KeyNames, type KeySource, findKeys, keySet } from './key-source'
import type { VerifyKey } from './verify-key'

const KEPT_MS = 3_600_000
const MOST_KEPT = 100
const UNAVAILABLE: Refusal = { refused: 'keys_unavailable', retryAfterSec: 1 }
const TOO_MANY = new Error('more keys are unknown than are asked for at once')

/**
 * Keys that a function of the app finds. Each is kept for an hour; the oldest of a hundred makes room. Anybody can name a
 * `kid`, so the function is called a bounded number of times at once, and once at a time for one `kid`.
 *
 * @param keyOf makes a key of what the function returned; throws if it is none
 */
export function keyLookup(
  find: (kid: string | undefined, algorithm: string) => ReturnType<FindKey>,
  keyOf: (material: KeyMaterial) => VerifyKey,
  algorithms: readonly string[],
  clock: Clock,
  calls = issuerCalls(clock),
): KeySource {
  const known = new Map<string, { readonly key: VerifyKey; readonly at: Moment }>()
  const isFresh = ({ at }: { readonly at: Moment }) => sinceMs(clock, at) < KEPT_MS
  const current = () => [...known.values()].filter(isFresh).map(({ key }) => key)

  return {
    find(token, from) {
      if (!algorithms.includes(token.algorithm)) return { refused: 'algorithm' }
      const kept = known.get(nameOf(token))
      return kept && isFresh(kept) ? fitting(kept.key, token) : asked(token, from)
    },
    findOther: () => undefined,
    has: (key) => current().includes(key),
    ready: () => Promise.resolve(),
    reload: () => Promise.resolve(known.clear()),
    all: current,
  }

  async function asked(token: KeyNames, from: ClientRequest | undefined): Promise<FoundKeys> {
    const name = nameOf(token)
    const answer = await calls.run(clientNetwork(from), () => ask(token, name), name)
    const found = answer ?? { ...UNAVAILABLE, cause: TOO_MANY }
    return isRefusal(found) ? found : fitting(found, token)
  }

  async function ask({ kid, algorithm }: KeyNames, name: string): Promise<VerifyKey | Refusal> {
    let material: KeyMaterial | null | undefined
    try {
      material = await answerOfApp('keys', clock, () => find(kid, algorithm))
    } catch (cause) {
      return { ...UNAVAILABLE, cause }
    }
    try {
      if (material === undefined || material === null) return { refused: 'unknown_key' }
      const key = keyOf(material)
      known.delete(name)
      known.set(name, { key, at: momentOf(clock) })
      if (known.size > MOST_KEPT) known.delete([...known.keys()][0] as string)
      return key
    } catch (cause) {
      return { refused: 'unknown_key', cause }
    }
  }

  function fitting(key: VerifyKey, token: KeyNames): FoundKeys {
    return findKeys(keySet([key]), token)
  }
}

/** The function may answer by both. */
function nameOf({ kid, algorithm }: KeyNames): string {
  return JSON.stringify([kid, algorithm])
}
