import type { Request } from 'express'
import type { BearerConfig } from '../bearer-config'
import type { Session } from './session'

/** Whether an unauthenticated session may make this request. */
type Permission = (req: Request) => boolean

interface Known {
  /** Whose it is: a copy of a request has what is on the request, and must not have its rights. */
  readonly request: Request
  readonly permissions: Permission[]
  checked?: { readonly session: Session | undefined; readonly config: BearerConfig }
}

/** Where it is kept. Not in `req.auth`: that may be written by other packages, too. */
const place = Symbol('tollgate.session')
type Asked = Request & { [place]?: Known }

/** Records what `allowUnauthenticated()` permits. It is asked at the moment of enforcement, when paths may be other. */
export function permitUnauthenticated(req: Request, permission: Permission): void {
  of(req).permissions.push(permission)
}

/** Whether some `allowUnauthenticated()` before permits this request as it now is. */
export function mayBeUnauthenticated(req: Request): boolean {
  return known(req)?.permissions.some((permits) => permits(req)) ?? false
}

/** Records the session of a request, and by which rules it was let in. */
export function recordSession(req: Request, session: Session | undefined, config: BearerConfig): void {
  of(req).checked = { session, config }
}

/** What `requireBearer()` recorded; undefined where none has run. */
export function checkedBy(
  req: Request,
): { readonly session: Session | undefined; readonly config: BearerConfig } | undefined {
  return known(req)?.checked
}

/** The session that `requireBearer()` let in with this request, whoever else may have written to `req.auth`. */
export function sessionOf(req: Request): Session | undefined {
  return known(req)?.checked?.session
}

function known(req: Asked): Known | undefined {
  const entry = req[place]
  return entry?.request === req ? entry : undefined
}

function of(req: Asked): Known {
  return known(req) ?? (req[place] = { request: req, permissions: [] })
}
