import { lookup } from 'node:dns/promises'
import { get } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { Request } from 'express'
import type { Clock } from '../../http/clock'
import { type FetchFunction, FetchProblem, fetchJson } from '../../http/fetch/fetch-json'
import type { IdentityScopes } from '../identity-scopes'
import { OAuthError } from '../oauth-error'
import { readClientMetadata } from '../parameters/client-metadata'
import type { Records } from '../records/records'
import { limitStrangers } from '../records/strangers'
import type { RegistrationSettings } from '../server-settings'
import { isPublicAddress } from '../directories/addresses'
import type { Client } from '../directories/client'
import { strangerClient } from './stranger-client'

/** Documents that are remembered; the oldest makes way. */
const MOST_DOCUMENTS = 1_000
/** Fetches at once. */
const MOST_FETCHES = 16
const [LEAST_FRESH_MS, FRESH_MS, MOST_FRESH_MS] = [60_000, 300_000, 24 * 60 * 60_000]
const FAILED_MS = 30_000
const FETCH = { timeoutMs: 5_000, maxBytes: 65_536 }
const LIMITS = { name: 'document', perAddress: 60, refusal: 'Too many apps have been looked up.' }

/**
 * Apps whose `client_id` is the URL of their metadata (draft-ietf-oauth-client-id-metadata-document). The document is
 * fetched as strangers' documents are: see {@link fetchPublic}. Each process keeps it as long as its `Cache-Control` says,
 * a minute to a day; five minutes without one.
 */
export class ClientDocuments {
  readonly #known = new Map<string, { readonly client: Promise<Client>; untilMs: number }>()
  #fetches = 0

  constructor(
    private readonly registration: RegistrationSettings,
    private readonly identity: IdentityScopes,
    private readonly records: Records,
    private readonly clock: Clock,
  ) {}

  /**
   * The app, or undefined if its id is no URL of a document.
   *
   * @throws {OAuthError} invalid_client with the reason if the document cannot be had, is none, or is refused
   */
  async find(clientId: string, req: Request): Promise<Client | undefined> {
    if (!isDocumentUrl(clientId)) return undefined
    const known = this.#known.get(clientId)
    if (known && known.untilMs > this.clock.now()) return known.client
    if (this.#fetches >= MOST_FETCHES) {
      throw new OAuthError('temporarily_unavailable', LIMITS.refusal, 429, { 'Retry-After': '5' })
    }
    await limitStrangers(this.records, req, LIMITS)
    const [oldest] = this.#known.keys()
    if (oldest !== undefined && this.#known.size >= MOST_DOCUMENTS) this.#known.delete(oldest)
    // Others wait for the same fetch.
    const entry = {
      client: this.#fetch(clientId, req, (ms) => (entry.untilMs = this.clock.now() + ms)),
      untilMs: Infinity,
    }
    this.#known.delete(clientId)
    this.#known.set(clientId, entry)
    return entry.client
  }

  async #fetch(clientId: string, req: Request, keep: (ms: number) => void): Promise<Client> {
    this.#fetches++
    try {
      const { fetch = fetchPublic } = this.registration
      const { body, freshMs = FRESH_MS } = await fetchJson(clientId, { ...FETCH, clock: this.clock, fetch })
      if (body.client_id !== clientId) throw new FetchProblem(`the client_id in ${clientId} is another`)
      const metadata = { ...readClientMetadata({ token_endpoint_auth_method: 'none', ...body }), client_id: clientId }
      if (metadata.token_endpoint_auth_method !== 'none' || 'client_secret' in body) {
        throw new FetchProblem(`the app of ${clientId} must be public: token_endpoint_auth_method none`)
      }
      const client = await strangerClient(this.registration, this.identity, clientId, metadata, req)
      keep(Math.min(MOST_FRESH_MS, Math.max(LEAST_FRESH_MS, freshMs)))
      return client
    } catch (err) {
      keep(FAILED_MS)
      if (!(err instanceof FetchProblem || err instanceof OAuthError)) throw err
      const { message, cause } = err
      const reason = cause instanceof Error ? `${message}: ${cause.message}` : message
      throw new OAuthError('invalid_client', 'The metadata document of this app cannot be used.').because(reason)
    } finally {
      this.#fetches--
    }
  }
}

/** Whether the app key is the URL of a document: `https`, with a path, written as URL parsers write it. */
function isDocumentUrl(clientId: string): boolean {
  if (!clientId.startsWith('https://') || !URL.canParse(clientId)) return false
  const { href, pathname, hash, username, password } = new URL(clientId)
  return href === clientId && pathname !== '/' && hash === '' && username === '' && password === ''
}

/** How {@link fetchPublic} finds and judges addresses. */
export interface PublicOnly {
  readonly lookUp: (hostname: string) => Promise<readonly { readonly address: string; readonly family: number }[]>
  readonly isPublic: (address: string) => boolean
  /** Certificate authorities. Default: those of Node. */
  readonly ca?: string
}

/** Fetches a stranger's document by HTTPS, from a host that has public addresses only. */
export const fetchPublic = publicFetch({
  lookUp: (hostname) => lookup(hostname, { all: true }),
  isPublic: isPublicAddress,
})

/**
 * A `fetch` that connects to no inner host. The name is looked up once, and the connection goes to an address that was
 * looked at: a second look-up could give another one.
 */
export function publicFetch({ lookUp, isPublic, ca }: PublicOnly): FetchFunction {
  return async (url, { headers, signal }) => {
    const { hostname } = new URL(url)
    const addresses = await lookUp(hostname.replace(/^\[|\]$/g, ''))
    const [first] = addresses
    if (!first || !addresses.every(({ address }) => isPublic(address))) {
      throw new FetchProblem(`${hostname} has addresses that are not public`)
    }
    return new Promise((resolve, reject) => {
      const pinned = { headers, signal, agent: false, lookup: pinnedTo(first), ...(ca && { ca }) }
      const request = get(url, pinned, (response) => {
        const field = (name: string) => response.headers[name.toLowerCase()]?.toString() ?? null
        const body = Object.assign(response, { cancel: () => response.destroy() })
        resolve({ status: response.statusCode ?? 0, headers: { get: field }, body })
      })
      request.on('error', reject)
    })
  }
}

function pinnedTo({ address, family }: { readonly address: string; readonly family: number }): LookupFunction {
  return (_hostname, { all }, answer) => (all ? answer(null, [{ address, family }]) : answer(null, address, family))
}
