import { type Clock, type Moment, momentOf, sinceMs } from '../../http/clock'
import { answerOfApp } from '../../http/fetch/app-answer'
import { issuerCalls } from '../../http/fetch/issuer-calls'
import { OwnedRecords } from '../../http/owners'
import { type ClientRequest, clientNetwork } from '../../http/request/client-network'
import { issuerName } from '../claims/claims'
import type { Refusal } from '../refusal/refusal'
import type { IssuerOptions, TrustedIssuer } from './trusted-issuer'

/** The option `issuers` as a function: options of an issuer, or undefined for one that is not trusted. */
export type FindIssuer = (iss: string) => IssuerOptions | undefined | Promise<IssuerOptions | undefined>

const KEPT_MS = 3_600_000
const MOST_KEPT = 1_000
/** Longest name that is asked about, in characters. */
const LONGEST = 2_048
const TOO_MANY = new Error('too many calls of the option issuers are running')

/**
 * Issuers that a function of the app knows. An answer is kept for an hour. Anybody can make up a name, so the function is
 * called a bounded number of times at once, of which one block of addresses has half, and once at a time for one name.
 */
export class IssuerLookup {
  readonly #kept = new OwnedRecords<{ readonly issuer: TrustedIssuer; readonly at: Moment }>(MOST_KEPT)
  readonly #calls

  /** @param make makes the issuer of a name from its options; throws if they are wrong */
  constructor(
    readonly find: FindIssuer,
    readonly make: (iss: string, options: IssuerOptions) => TrustedIssuer,
    readonly clock: Clock,
  ) {
    this.#calls = issuerCalls(clock)
  }

  get(iss: string): TrustedIssuer | undefined {
    const kept = this.#kept.get(issuerName(iss))
    return kept && sinceMs(this.clock, kept.at) < KEPT_MS ? kept.issuer : undefined
  }

  forget(iss: string): void {
    this.#kept.delete(issuerName(iss))
  }

  /** The issuer; undefined if the function knows none. */
  async ask(iss: string, from: ClientRequest | undefined): Promise<TrustedIssuer | Refusal | undefined> {
    if (iss.length > LONGEST) return undefined
    const unavailable = (cause: unknown): Refusal => {
      return { refused: 'tenants_unavailable', retryAfterSec: 1, about: { claim: 'issuers', received: iss }, cause }
    }
    const ask = async () => {
      const options = await answerOfApp('issuers', this.clock, () => this.find(iss))
      if (options === undefined || options === null) return { issuer: undefined }
      const issuer = this.make(iss, options)
      this.#kept.set(issuerName(iss), { issuer, at: momentOf(this.clock) }, '')
      return { issuer }
    }
    return this.#calls.run(clientNetwork(from), ask, iss).then((answer) => {
      return answer ? answer.issuer : unavailable(TOO_MANY)
    }, unavailable)
  }
}
