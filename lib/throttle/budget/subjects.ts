import { createHmac, hash } from 'node:crypto'
import { optionError } from '../../http/help'
import { type Clock, nowUs } from '../../http/clock'
import { Account } from './account'
import type { AccountTerms } from './account'
import type { Server } from './window-clock'

/** How often some of the accounts are looked at, to let go of those that are over, and in what time all are. */
const SWEEP_MS = 100
const SWEEP_ROUND_MS = 5_000
const SWEEP_LEAST = 20

/** The accounts of one policy in this process, one for each subject. */
export class Subjects {
  readonly #accounts = new Map<string, Account>()
  readonly #terms: AccountTerms
  readonly #serverOf: (id: string) => Server
  readonly #digest: SubjectDigest
  readonly #clock: Clock
  /** Whether something is still to be done about an account that is over. */
  readonly #isNeeded: (account: Account) => boolean
  #sweep: Iterator<Account, undefined> | undefined
  #isSweeping = false
  #isClosed = false

  /** @param serverOf the server that keeps the account with this id */
  constructor(
    terms: AccountTerms,
    serverOf: (id: string) => Server,
    clock: Clock,
    isNeeded: (account: Account) => boolean,
    digest: SubjectDigest = sha256Digest,
  ) {
    this.#terms = terms
    this.#serverOf = serverOf
    this.#clock = clock
    this.#isNeeded = isNeeded
    this.#digest = digest
  }

  /** How many subjects are known. */
  get size(): number {
    return this.#accounts.size
  }

  [Symbol.iterator](): Iterator<Account> {
    return this.#accounts.values()
  }

  has(subject: string): boolean {
    return this.#accounts.has(subject)
  }

  /** The subject's account in the window that is open now. */
  of(subject: string, now: number): Account {
    return this.find(subject, now) ?? this.open(subject, now)
  }

  /** The same, where the subject is known. */
  find(subject: string, now: number): Account | undefined {
    const account = this.#accounts.get(subject)
    account?.enter(now)
    return account
  }

  /** The same, of a subject that is not known. */
  open(subject: string, now: number): Account {
    const { id, phase } = subjectId(subject, this.#terms.windowUs, this.#digest)
    const account = new Account(subject, id, phase, this.#terms, this.#serverOf(id), now)
    this.#accounts.set(subject, account)
    if (!this.#isSweeping) this.#sweepLater()
    return account
  }

  /** Nothing is let go of any more. */
  close(): void {
    this.#isClosed = true
  }

  /** A few accounts at a time: many of them must not stop the process. */
  #sweepLater(): void {
    this.#isSweeping = this.#accounts.size > 0 && !this.#isClosed
    if (!this.#isSweeping) return
    this.#clock.after(SWEEP_MS, () => {
      if (this.#isClosed) return
      this.#letGo(nowUs(this.#clock), SWEEP_LEAST + Math.ceil((this.#accounts.size * SWEEP_MS) / SWEEP_ROUND_MS))
      this.#sweepLater()
    })
  }

  /** Lets go of accounts of which nothing matters any more. Looks at no more than `most`, round and round. */
  #letGo(now: number, most: number): void {
    for (let i = 0; i < most; i++) {
      this.#sweep ??= this.#accounts.values()
      const next = this.#sweep.next()
      if (next.done === true) return void (this.#sweep = undefined)
      const account = next.value
      if (!account.hasNothingLeft(now) || this.#isNeeded(account)) continue
      account.noteTotal(now)
      account.forget()
      this.#accounts.delete(account.subject)
    }
  }
}

/**
 * Names the subject in the store, and says where its windows begin: the phase, in microseconds. Both come from a digest,
 * so that no two subjects share them.
 */
export function subjectId(subject: string, windowUs: number, digestOf = sha256Digest): { id: string; phase: number } {
  const digest = digestOf(subject)
  const phase = Buffer.from(digest.slice(24, 32), 'base64url').readUIntBE(0, 6) % windowUs
  return { id: digest.slice(0, 24), phase }
}

/** A digest of a subject: 43 base64url characters, the same for equal subjects. */
export type SubjectDigest = (subject: string) => string

/** SHA-256 of a subject's UTF-16 code units, so that no two subjects share it. */
export function sha256Digest(subject: string): string {
  return hash('sha256', Buffer.from(subject, 'utf16le'), 'base64url') // as text: bytes take twice as long
}

const LEAST_BYTES = 32

/**
 * HMAC-SHA-256 (RFC 2104) of a subject under the app's key. Without the key nobody can try out which subject a digest is of.
 *
 * @throws {TypeError | RangeError} where it is no text or bytes, or too short; the message does not show it
 */
export function keyedDigest(hashKey: unknown): SubjectDigest {
  const key = typeof hashKey === 'string' ? Buffer.from(hashKey) : hashKey
  if (!(key instanceof Uint8Array)) throw optionError('hashKey must be a text or bytes')
  if (key.length < LEAST_BYTES)
    throw optionError(`hashKey must have ${LEAST_BYTES} bytes or more; received ${key.length}`, RangeError)
  const own = Buffer.from(key) // the app may clear its own
  return (subject) => createHmac('sha256', own).update(Buffer.from(subject, 'utf16le')).digest('base64url')
}
