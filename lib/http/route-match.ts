import type { Application, Request, Response, Router as ExpressRouter } from 'express'
import { Router } from './express'
import { fullPath } from './full-path'

/** A path in Express's own syntax, matched as `app.use()` matches it, for some methods or for all. */
export interface RouteEntry<T> {
  readonly path: string
  readonly methods?: ReadonlySet<string>
  readonly value: T
}

/** What Express's router is asked with: it reads and writes these and nothing else of a request. */
interface Probe<T> {
  method: string
  url: string
  found: T | undefined
}

/**
 * Finds the first entry that Express itself would route this request to, by its full path (`baseUrl + path`), whatever
 * router the middleware stands in. The matching is Express's: its path syntax, its treatment of case, of a trailing
 * slash and of encoded characters, with the app's own routing settings.
 *
 * @param option names the option in errors
 * @throws {TypeError} where Express does not take a path
 */
export function routeMatcher<T>(option: string, entries: readonly RouteEntry<T>[]): (req: Request) => T | undefined {
  const routers = new Map<string, ExpressRouter>()
  const named = new Set(entries.flatMap(({ methods }) => [...(methods ?? [])]))
  if (named.has('GET')) named.add('HEAD')
  build(entries, false, false) // a wrong path shows now, not at the first request

  return (req) => {
    if (entries.length === 0) return undefined
    const probe: Probe<T> = { method: req.method, url: fullPath(req), found: undefined }
    // The first layer that matches answers and nothing waits, so the answer is there when the call returns. An error is
    // Express's own word that it could not decode the path; it will say so itself where it matters.
    routerFor(req)(probe as unknown as Request, {} as Response, () => undefined)
    return probe.found
  }

  function routerFor({ app, method }: Request): ExpressRouter {
    const caseSensitive = enabled(app, 'case sensitive routing')
    const strict = enabled(app, 'strict routing')
    const key = `${caseSensitive} ${strict} ${named.has(method) ? method : 'any other'}`
    let router = routers.get(key)
    if (!router) {
      const taking = entries.filter(({ methods }) => !methods || takes(methods, method))
      routers.set(key, (router = build(taking, caseSensitive, strict)))
    }
    return router
  }

  function build(taking: readonly RouteEntry<T>[], caseSensitive: boolean, strict: boolean): ExpressRouter {
    const router = Router({ caseSensitive, strict })
    for (const { path, value } of taking) {
      try {
        router.use(path, (req: Request) => void ((req as unknown as Probe<T>).found = value))
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause)
        throw new TypeError(`${option}: Express does not take the path ${JSON.stringify(path)}: ${why}`, { cause })
      }
    }
    return router
  }
}

/** Express routes HEAD to what answers GET. */
function takes(methods: ReadonlySet<string>, method: string): boolean {
  return methods.has(method) || (method === 'HEAD' && methods.has('GET'))
}

function enabled(app: Application | undefined, setting: string): boolean {
  return app?.enabled(setting) ?? false
}
