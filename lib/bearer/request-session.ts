import type { IncomingMessage } from 'node:http'
import type { Request } from 'express'
import { sharedSymbol } from '../http/package-copies'
import type { BearerConfig } from './bearer-config'
import type { ScopeRule } from './session/scope'
import type { Session } from './session/session'

/** Tells whether an unauthenticated session may make this request. */
type Permission = (req: Request) => boolean

/** Result of `requireBearer()` for a request. */
export interface BearerCheck {
  /** Undefined if `optional: true` let the request in without a token. */
  readonly session: Session | undefined
  readonly config: BearerConfig
  /** Scopes that the middleware so far requires, `requireBearer()` included. */
  readonly needed: Set<string>
}

interface RequestRecord {
  /** The request it is for: a copy of a request copies this property, and must not get its rights. */
  readonly request: IncomingMessage
  permissions: readonly Permission[]
  check?: BearerCheck
}

const NONE: readonly Permission[] = []

/** A symbol, because other packages may write to `req.auth`. */
const record: unique symbol = sharedSymbol('session') as never
type RecordedRequest = IncomingMessage & { [record]?: RequestRecord }

/** Records what `allowUnauthenticated()` permits. It is evaluated at enforcement, when the path may have changed. */
export function permitUnauthenticated(req: Request, permission: Permission): void {
  const made = makeRecord(req)
  made.permissions = [...made.permissions, permission]
}

/** Whether an earlier `allowUnauthenticated()` permits this request in its present form. */
export function isUnauthenticatedPermitted(req: Request): boolean {
  return recordOf(req)?.permissions.some((permits) => permits(req)) ?? false
}

/** Records the session of a request and the rules that let it in. */
export function recordSession(req: Request, session: Session | undefined, config: BearerConfig): void {
  makeRecord(req).check = { session, config, needed: new Set(scopesKept(config.scope, session)) }
}

/** Scopes that a new token must have to satisfy the rule again. For an `any` rule, only those that this session has. */
export function scopesKept({ scopes, any }: ScopeRule, session: Session | undefined): readonly string[] {
  return any ? scopes.filter((scope) => session?.scope.includes(scope)) : scopes
}

/** Record of `requireBearer()`; undefined if none has run. */
export function bearerCheckOf(req: IncomingMessage): BearerCheck | undefined {
  return recordOf(req)?.check
}

function recordOf(req: RecordedRequest | undefined): RequestRecord | undefined {
  const found = req?.[record]
  return found?.request === req ? found : undefined
}

function makeRecord(req: RecordedRequest): RequestRecord {
  return recordOf(req) ?? (req[record] = { request: req, permissions: NONE })
}
