import type { Application, Request, RequestHandler, Response } from 'express'
import { warnOnce } from '../../http/warn-once'

/** A layer of Express's router, as far as it is read here. */
interface Layer {
  readonly handle: { readonly length: number; readonly stack?: Layer[] }
  readonly name?: string
  readonly route?: unknown
}

/**
 * Warns if a throttle is mounted after all routes of its app: it then sees only requests that no route answers. Judged by
 * a response with status 404, because a last handler may serve pages.
 */
export function checkMountOrder(throttle: RequestHandler, req: Request, res: Response): void {
  if (!isAfterRoutes(throttle, req.app as Application | undefined)) return
  res.once('finish', () => {
    if (res.statusCode !== 404) return
    warnOnce(
      'TOLLGATE_AFTER_ROUTES',
      'throttle() is mounted after all routes of the app, so it sees only requests that no route answers; mount it ' +
        'before the routes',
    )
  })
}

/** Whether routes stand before the throttle, and none after it. Error handlers and handlers `(req, res)` are no routes. */
function isAfterRoutes(throttle: RequestHandler, app: Application | undefined): boolean {
  const routed = (app ?? {}) as { readonly _router?: { stack?: Layer[] }; readonly router?: { stack?: Layer[] } }
  const layers = (routed._router ?? routed.router)?.stack?.flatMap(withInner) ?? [] // Express 4 throws for router
  const at = layers.findIndex(({ handle }) => (handle as unknown) === throttle)
  const isEnd = ({ route, handle }: Layer) => route === undefined && (handle.length === 4 || handle.length <= 2)
  const isRoute = ({ route, name }: Layer) => route !== undefined || name === 'mounted_app'
  return at !== -1 && layers.slice(0, at).some(isRoute) && layers.slice(at + 1).every(isEnd)
}

/** A layer; of a router its layers. */
function withInner(layer: Layer): Layer[] {
  return layer.handle.stack?.flatMap(withInner) ?? [layer]
}
