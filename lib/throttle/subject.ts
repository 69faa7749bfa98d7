import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Request } from 'express'
import { bearerCheckOf } from '../bearer/request-session'
import type { Session } from '../bearer/session/session'
import { answeredAtOnce } from '../http/callback'
import { clientBlock, clientNetwork } from '../http/request/client-network'
import { IPV6_PREFIX, blockOf, networkOf } from '../http/request/network'
import { usageError } from '../http/help'
import { optionRange, shown } from '../http/options'

/**
 * Who pays for a request: the signed-in user; with no user, the client app; with neither, the client's network address.
 * The issuer and its length are part of it, so that equal ids of two issuers, or of a user and an app, never meet.
 *
 * @example 'user:25:https://ident.example.org:ada', 'client:25:https://ident.example.org:app-1', 'address:203.0.113.9'
 */
export function defaultSubject(req: IncomingMessage, options?: Parameters<typeof addressSubject>[1]): string {
  const session = bearerCheckOf(req)?.session
  if (session === undefined) return addressSubject(req, options)
  let subject = subjects.get(session)
  if (subject === undefined) subjects.set(session, (subject = sessionSubject(session)))
  return subject
}

/** A session is the same for all requests of a token; so is its text then, whose hash V8 keeps in it. */
const subjects = new WeakMap<Session, string>()

function sessionSubject(session: Session): string {
  const { kind, issuer } = session
  if (kind === 'user') return `user:${issuer.length}:${issuer}:${session.userId}`
  return `client:${issuer.length}:${issuer}:${session.clientId}`
}

/**
 * The client's network address as a subject, for a `subject` of your own: an IPv4 address, or the /56 of an IPv6 address,
 * since one host can have all of that to itself (RFC 6177). Behind a proxy it needs Express's `trust proxy`; a warning
 * `TOLLGATE_TRUST_PROXY` says where that is missing. Clients without an IP address share `address:unknown`.
 *
 * @example throttle({ subject: addressSubject })
 * @example addressSubject(req, { ipv6Prefix: 64 }) // 'address:2001:db8:1:2ff::/64'
 * @param options `ipv6Prefix`: how many bits of an IPv6 address count, whole, 32 to 128. Default 56
 * @throws {RangeError} where `ipv6Prefix` is no whole number from 32 to 128
 */
export function addressSubject(
  req: IncomingMessage,
  { ipv6Prefix = IPV6_PREFIX }: { readonly ipv6Prefix?: number | undefined } = {},
): string {
  optionRange('ipv6Prefix', ipv6Prefix, 32, 128)
  return `address:${clientNetwork(req, ipv6Prefix)}`
}

/** The subject of all clients without an IP address, and what a client that has left would be taken for. */
export const UNKNOWN_ADDRESS = 'address:unknown'

/** How an address begins, and few other subjects do: `isIP()` takes several times as long. */
const ADDRESS_LIKE = /^(?:address:|[\da-f]{0,4}[.:])/i

/** Whether a subject is an address, and no user or app. */
export function isAddressSubject(who: string): boolean {
  return ADDRESS_LIKE.test(who) && (who.startsWith('address:') || isIP(who) !== 0)
}

/** The network that a request came from, a /16 or an IPv6 /32: it pays where there are too many addresses to tell apart. */
export function networkSubject(req: IncomingMessage): string {
  return `network:${clientBlock(req)}`
}

/** The block of a subject that is an address, as {@link networkSubject} names it. */
export function blockOfSubject(who: string): string {
  const address = who.slice(who.startsWith('address:') ? 'address:'.length : 0)
  return `network:${blockOf(networkOf(address.split('/', 1)[0]) ?? address)}`
}

/** The option `subject`: who pays. `undefined` is the default payer, `null` exempts the request. */
export type SubjectFunction = (req: Request) => string | null | undefined

/**
 * Who pays for a request, by the option `subject`; null exempts it.
 *
 * @param options for addresses that pay by default
 * @throws {TypeError} where the function returned an empty string, a promise or another value
 */
export function subjectOf(
  req: Request,
  subject: SubjectFunction | undefined,
  options: Parameters<typeof addressSubject>[1],
): string | null {
  if (subject === addressSubject) return addressSubject(req, options)
  const who: unknown = subject?.(req)
  if (who === undefined) return defaultSubject(req, options)
  if (who === null || (typeof who === 'string' && who !== '')) return who
  answeredAtOnce('subject', who)
  const remedy = typeof who === 'number' || typeof who === 'bigint' ? '; write String(id)' : ''
  throw usageError(
    'subject(req) must return a string that is not empty, undefined for the default payer, or null to exempt the ' +
      `request; it returned ${shown(who)}${remedy}`,
  )
}

/** Longer subjects are kept in memory by a hash, so that long names cannot fill it. */
const LONGEST_SUBJECT = 256
const SUBJECT_KEPT = 200

/** What a subject is kept by in memory. A hashed one is longer than any other, so that no two share it. */
export function subjectKey(subject: string): string {
  if (subject.length <= LONGEST_SUBJECT) return subject
  const digest = createHash('sha256').update(Buffer.from(subject, 'utf16le')).digest('hex')
  return `${subject.slice(0, SUBJECT_KEPT)}\u2026${digest}`
}
