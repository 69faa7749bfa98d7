import { Resolver } from 'node:dns/promises'
import { get } from 'node:https'
import { type LookupFunction, isIP } from 'node:net'
import { type Clock, systemClock } from '../../http/clock'
import { type FetchFunction, type Fetched, FetchProblem, fetchJson } from '../../http/fetch/fetch-json'
import { Places } from '../../http/places'
import { isInnerHost, isPublicAddress } from '../directories/addresses'
import { knownUrl } from '../../http/url'

/** An IP address, as `dns.lookup()` gives it. */
interface Address {
  readonly address: string
  readonly family: number
}

/** How {@link publicFetch} finds and judges addresses. */
export interface PublicOnly {
  readonly lookUp: (hostname: string) => Promise<readonly Address[]>
  readonly isPublic: (address: string) => boolean
  /** Certificate authorities. Default: those of Node. */
  readonly ca?: string
}

const FETCH = { timeoutMs: 5_000, maxBytes: 65_536 }

/**
 * Fetches a JSON document at an address that a stranger gave: by HTTPS, from a host that has public addresses only, within
 * 5 s and 64 KiB.
 *
 * @param network of the request that needs it, as `clientNetwork()` has it: look-ups of names are shared fairly
 * @param fetch the app's function in place of {@link publicFetch}
 * @throws {FetchProblem}
 */
export function fetchDocument(url: string, network: string, clock: Clock, fetch?: FetchFunction): Promise<Fetched> {
  const own = { lookUp: (name: string) => lookUpShared(name, network), isPublic: isPublicAddress }
  return fetchJson(url, { ...FETCH, clock, fetch: fetch ?? publicFetch(own) })
}

/** Time for a look-up, in milliseconds. */
const LOOK_UP_MS = 2_000
/** Look-ups of strangers' names in this process. */
const lookUps = new Places({ places: 2, leavesRoom: true, mostWaiting: 64, longestWaitMs: 2_500 }, systemClock)

/** @throws {FetchProblem} if too many names are being looked up, or this one cannot be */
async function lookUpShared(hostname: string, network: string): Promise<readonly Address[]> {
  const found = await lookUps.run(network, () => lookUpPublic(hostname), hostname)
  if (!found) throw new FetchProblem('too many names are being looked up')
  return found
}

/**
 * Addresses of a stranger's host. The name goes to the DNS servers alone, and no longer than 2 s: `dns.lookup()` would keep
 * one of libuv's threads for 10 s or more, and the app's own look-ups would wait behind it.
 *
 * @param servers of DNS, `127.0.0.1:53`. Default: those of the system
 * @throws {FetchProblem} if it has none
 */
export async function lookUpPublic(hostname: string, servers?: readonly string[]): Promise<readonly Address[]> {
  const family = isIP(hostname)
  if (family !== 0) return [{ address: hostname, family }]
  if (isInnerHost(hostname)) throw notPublic(hostname)
  const resolver = new Resolver({ timeout: LOOK_UP_MS / 2, tries: 2 })
  if (servers) resolver.setServers(servers)
  const cancel = systemClock.after(LOOK_UP_MS, () => resolver.cancel())
  const asked = [resolver.resolve4(hostname), resolver.resolve6(hostname)] as const
  const answers = await Promise.allSettled(asked)
  cancel()
  const found = answers.flatMap((answer, i) =>
    answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: i === 0 ? 4 : 6 })) : [],
  )
  if (found.length > 0) return found
  throw new FetchProblem(`${hostname} has no address`, undefined, (answers[0] as PromiseRejectedResult).reason)
}

function notPublic(hostname: string): FetchProblem {
  return new FetchProblem(`${hostname} has addresses that are not public`)
}

/** For each address of a host, before the next one is tried. */
const CONNECT_MS = 1_000

/**
 * A `fetch` that connects to no inner host. The name is looked up once, and the connection goes to an address that was
 * looked at: a second look-up could give another one. All addresses of the host are tried in turn.
 */
export function publicFetch({ lookUp, isPublic, ca }: PublicOnly): FetchFunction {
  return async (url, { headers, signal }) => {
    const { hostname } = knownUrl(url)
    const addresses = await lookUp(hostname.replace(/^\[|\]$/g, ''))
    if (addresses.length === 0 || !addresses.every(({ address }) => isPublic(address))) throw notPublic(hostname)
    const pinned = {
      headers,
      signal,
      agent: false,
      lookup: pinnedTo(addresses),
      ...(ca && { ca }),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: CONNECT_MS,
    }
    return new Promise((resolve, reject) => {
      const request = get(url, pinned, (response) => {
        const field = (name: string) => response.headers[name.toLowerCase()]?.toString() ?? null
        const body = Object.assign(response, { cancel: () => response.destroy() })
        resolve({ status: response.statusCode ?? 0, headers: { get: field }, body })
      })
      request.on('error', reject)
    })
  }
}

function pinnedTo(addresses: readonly Address[]): LookupFunction {
  const [{ address, family }] = addresses as [Address]
  return (_hostname, { all }, answer) => (all ? answer(null, [...addresses]) : answer(null, address, family))
}
