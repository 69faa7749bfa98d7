import type { Request } from 'express'
import type { BearerConfig } from './bearer-config'
import type { Session } from './session'

/** Whether an unauthenticated session may make this request. */
type Permission = (req: Request) => boolean

interface Known {
  readonly permissions: Permission[]
  checked?: { readonly session: Session | undefined; readonly config: BearerConfig }
}

/** Not `req.auth`: that may be written by other packages, too. */
const known = Symbol('tollgate.session')
type Asked = Request & { [known]?: Known }

/** Records what `allowUnauthenticated()` permits. It is asked at the moment of enforcement, when paths may be other. */
export function permitUnauthenticated(req: Request, permission: Permission): void {
  of(req).permissions.push(permission)
}

/** Whether some `allowUnauthenticated()` before permits this request as it now is. */
export function mayBeUnauthenticated(req: Request): boolean {
  return (req as Asked)[known]?.permissions.some((permits) => permits(req)) ?? false
}

/** Records the session of a request, and by which rules it was let in. */
export function recordSession(req: Request, session: Session | undefined, config: BearerConfig): void {
  of(req).checked = { session, config }
}

/** What `requireBearer()` recorded; undefined where none has run. */
export function checkedBy(
  req: Request,
): { readonly session: Session | undefined; readonly config: BearerConfig } | undefined {
  return (req as Asked)[known]?.checked
}

/** The session that `requireBearer()` let in with this request, whoever else may have written to `req.auth`. */
export function sessionOf(req: Request): Session | undefined {
  return (req as Asked)[known]?.checked?.session
}

function of(req: Request): Known {
  return ((req as Asked)[known] ??= { permissions: [] })
}
