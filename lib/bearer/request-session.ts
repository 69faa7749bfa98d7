import type { IncomingMessage } from 'node:http'
import type { Request } from 'express'
import { sharedSymbol } from '../http/package-copies'
import type { BearerConfig } from './bearer-config'
import type { Session } from './session/session'

/** Whether an unauthenticated session may make this request. */
type Permission = (req: Request) => boolean

/** What `requireBearer()` found out about a request. */
interface BearerCheck {
  /** Undefined where `optional: true` let the request in without a token. */
  readonly session: Session | undefined
  readonly config: BearerConfig
}

interface RequestRecord {
  /** Whose it is: a copy of a request has what is on the request, and must not have its rights. */
  readonly request: IncomingMessage
  permissions: readonly Permission[]
  check?: BearerCheck
}

const NONE: readonly Permission[] = []

/** Not `req.auth`: other packages may write to that, too. */
const record: unique symbol = sharedSymbol('session') as never
type RecordedRequest = IncomingMessage & { [record]?: RequestRecord }

/** Records what `allowUnauthenticated()` permits. It is asked at the moment of enforcement, when paths may be other. */
export function permitUnauthenticated(req: Request, permission: Permission): void {
  const made = makeRecord(req)
  made.permissions = [...made.permissions, permission]
}

/** Whether some `allowUnauthenticated()` before permits this request as it now is. */
export function isUnauthenticatedPermitted(req: Request): boolean {
  return recordOf(req)?.permissions.some((permits) => permits(req)) ?? false
}

/** Records the session of a request, and by which rules it was let in. */
export function recordSession(req: Request, session: Session | undefined, config: BearerConfig): void {
  makeRecord(req).check = { session, config }
}

/** What `requireBearer()` recorded; undefined where none has run. */
export function bearerCheckOf(req: IncomingMessage): BearerCheck | undefined {
  return recordOf(req)?.check
}

function recordOf(req: RecordedRequest): RequestRecord | undefined {
  const found = req[record]
  return found?.request === req ? found : undefined
}

function makeRecord(req: RecordedRequest): RequestRecord {
  return recordOf(req) ?? (req[record] = { request: req, permissions: NONE })
}
