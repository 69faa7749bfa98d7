import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { Request } from 'express'
import { bearerCheckOf } from '../bearer/request-session'
import type { Session } from '../bearer/session/session'
import { checkTrustProxy } from './trust-proxy'

/**
 * Who pays for a request: the signed-in user; with no user, the client app; with neither, the client's network address.
 * The issuer and its length are part of it, so that equal ids of two issuers, or of a user and an app, never meet.
 *
 * @example 'user:25:https://ident.example.org:ada', 'client:25:https://ident.example.org:app-1', 'address:203.0.113.9'
 */
export function defaultSubject(req: Request): string {
  const session = bearerCheckOf(req)?.session
  if (session === undefined) return addressSubject(req)
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
 * `TOLLGATE_TRUST_PROXY` says where that is missing.
 *
 * @example throttle({ subject: (req) => (req.user ? `user:${req.user.id}` : addressSubject(req)) })
 */
export function addressSubject(req: Request): string {
  checkTrustProxy(req)
  return `address:${networkOf(addressOf(req))}`
}

/** The network that a request came from, a /16 or an IPv6 /32: it pays where there are too many addresses to tell apart. */
export function networkSubject(req: Request): string {
  const network = networkOf(addressOf(req))
  const separator = network.includes(':') ? ':' : '.'
  return `network:${network.split(separator).slice(0, 2).join(separator)}`
}

function addressOf(req: Request): string {
  return req.ip ?? req.socket.remoteAddress ?? ''
}

/** One host can have a /56 of IPv6 addresses to itself (RFC 6177): they are one subject. */
const IPV6_GROUPS_KEPT = 3
const IPV6_LAST_GROUP_MASK = 0xff00

/**
 * The network that stands for an address: an IPv4 address itself, also where it comes mapped into IPv6; of an IPv6
 * address the /56.
 */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)
  if (mapped?.[1] !== undefined) return mapped[1]
  if (!isIPv6(address)) return address
  const [head = '', tail] = (address.split('%')[0] as string).split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail ? tail.split(':') : []
  const missing = tail === undefined ? 0 : 8 - first.length - last.length - (last.at(-1)?.includes('.') ? 1 : 0)
  const groups = [...first, ...Array<string>(Math.max(0, missing)).fill('0'), ...last].map((g) => parseInt(g, 16))
  const kept = groups.slice(0, IPV6_GROUPS_KEPT)
  kept.push((groups[IPV6_GROUPS_KEPT] as number) & IPV6_LAST_GROUP_MASK)
  return `${kept.map((group) => group.toString(16)).join(':')}::/56`
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
