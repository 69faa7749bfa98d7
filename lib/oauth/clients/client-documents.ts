import type { Request } from 'express'
import type { Clock } from '../../http/clock'
import { FairQueue } from '../../http/fair-queue'
import { FetchProblem } from '../../http/fetch/fetch-json'
import { clientNetwork } from '../../http/request/client-network'
import type { IdentityScopes } from '../identity-scopes'
import { OAuthError } from '../oauth-error'
import { readClientMetadata } from '../parameters/client-metadata'
import type { Records } from '../records/records'
import { limitStrangers } from '../records/strangers'
import type { RegistrationSettings } from '../server-settings'
import type { Client } from '../directories/client'
import { fetchDocument } from './public-fetch'
import { strangerClient } from './stranger-client'

/** Documents that are remembered; the oldest makes way. */
const MOST_DOCUMENTS = 1_000
/** Bounds of the fetches under way. */
const FETCHES = { slots: 16, leavesRoom: true, mostWaiting: 64, longestWaitMs: 2_000 }
const [LEAST_FRESH_MS, FRESH_MS, MOST_FRESH_MS] = [60_000, 300_000, 24 * 60 * 60_000]
const FAILED_MS = 30_000
const LIMITS = { name: 'document', perAddress: 60, refusal: 'Too many apps have been looked up.' }

/** What a fetch came to: the app, or why there is none. */
interface Known {
  readonly client: Client | OAuthError
  readonly untilMs: number
}

/**
 * Apps whose `client_id` is the URL of their metadata (draft-ietf-oauth-client-id-metadata-document). The document is
 * fetched as strangers' documents are: see {@link fetchDocument}. Each process keeps it as long as its `Cache-Control`
 * says, a minute to a day; five minutes without one. A document is fetched once for all who wait for it.
 */
export class ClientDocuments {
  readonly #known = new Map<string, Known>()
  readonly #fetches: FairQueue

  constructor(
    private readonly registration: RegistrationSettings,
    private readonly identity: IdentityScopes,
    private readonly records: Records,
    private readonly clock: Clock,
  ) {
    this.#fetches = new FairQueue(FETCHES, clock)
  }

  /**
   * The app, or undefined if its id is no URL of a document.
   *
   * @throws {OAuthError} invalid_client with the reason if the document cannot be had, is none, or is refused; 429 if too
   *   many are being fetched
   */
  async find(clientId: string, req: Request): Promise<Client | undefined> {
    if (!isDocumentUrl(clientId)) return undefined
    const begins = !this.#fresh(clientId) && !this.#fetches.has(clientId)
    if (begins) await limitStrangers(this.records, req, LIMITS)
    const network = clientNetwork(req)
    const fetched = () => this.#fetches.run(network, () => this.#fetch(clientId, network, req), clientId)
    const known = this.#fresh(clientId) ?? (await fetched())
    if (!known) throw new OAuthError('temporarily_unavailable', LIMITS.refusal, 429, { 'Retry-After': '5' })
    if (known.client instanceof OAuthError) throw known.client
    return known.client
  }

  #fresh(clientId: string): Known | undefined {
    const known = this.#known.get(clientId)
    return known && known.untilMs > this.clock.now() ? known : undefined
  }

  async #fetch(clientId: string, network: string, req: Request): Promise<Known> {
    try {
      const { body, freshMs = FRESH_MS } = await fetchDocument(clientId, network, this.clock, this.registration.fetch)
      if (body.client_id !== clientId) throw new FetchProblem(`the client_id in ${clientId} is another`)
      const metadata = { ...readClientMetadata({ token_endpoint_auth_method: 'none', ...body }), client_id: clientId }
      if (metadata.token_endpoint_auth_method !== 'none' || 'client_secret' in body) {
        throw new FetchProblem(`the app of ${clientId} must be public: token_endpoint_auth_method none`)
      }
      const client = await strangerClient(this.registration, this.identity, clientId, metadata, req)
      return this.#keep(clientId, client, Math.min(MOST_FRESH_MS, Math.max(LEAST_FRESH_MS, freshMs)))
    } catch (err) {
      if (!(err instanceof FetchProblem || err instanceof OAuthError)) throw err
      const { message, cause } = err
      const reason = cause instanceof Error ? `${message}: ${cause.message}` : message
      const refusal = new OAuthError('invalid_client', 'The metadata document of this app cannot be used.')
      return this.#keep(clientId, refusal.because(reason), FAILED_MS)
    }
  }

  #keep(clientId: string, client: Known['client'], forMs: number): Known {
    const known = { client, untilMs: this.clock.now() + forMs }
    this.#known.delete(clientId)
    const [oldest] = this.#known.keys()
    if (oldest !== undefined && this.#known.size >= MOST_DOCUMENTS) this.#known.delete(oldest)
    this.#known.set(clientId, known)
    return known
  }
}

/** Whether the app key is the URL of a document: `https`, with a path, written as URL parsers write it. */
function isDocumentUrl(clientId: string): boolean {
  if (!clientId.startsWith('https://') || !URL.canParse(clientId)) return false
  const { href, pathname, hash, username, password } = new URL(clientId)
  return href === clientId && pathname !== '/' && hash === '' && username === '' && password === ''
}
