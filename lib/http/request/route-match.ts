import type { Application, NextFunction, Request, Response, Router as ExpressRouter } from 'express'
import { Router } from '../express'
import { fullPath } from './full-path'
import { optionError } from '../help'

/**
 * A path in Express's own syntax, matched as `app.use()` matches it, for some methods or for all. `/` is the home page alone:
 * whoever exempts it does not mean the whole app.
 */
export interface RouteEntry<T> {
  readonly path: string
  readonly methods?: ReadonlySet<string>
  readonly value: T
}

/** Result if Express cannot decode the path. Express reports that itself. */
const UNDECODED = Symbol('undecoded')

/** Minimal request for Express's router: the properties that it reads and writes. */
interface Probe<T> {
  method: string
  url: string
  found: T | undefined | typeof UNDECODED
}

/** Finds the first entry for a request, by its full path or by a given one. */
export type RouteMatcher<T> = (req: Request, path?: string) => T | undefined

/** The entries that take a method, as one router and each by itself. */
interface Routers {
  readonly all: ExpressRouter
  readonly each: readonly ExpressRouter[]
}

/**
 * Finds the first entry that Express itself would route this request to, by its full path (`baseUrl + path`), whatever
 * router the middleware stands in. The matching is Express's: its path syntax, its treatment of case, of a trailing
 * slash and of encoded characters, with the app's own routing settings. An entry that cannot decode the path is skipped.
 *
 * @param option names the option in errors
 * @throws {TypeError} if Express rejects a path
 */
export function routeMatcher<T>(option: string, entries: readonly RouteEntry<T>[]): RouteMatcher<T> {
  const routers = new Map<string, Routers>()
  const named = new Set(entries.flatMap(({ methods }) => [...(methods ?? [])]))
  if (named.has('GET')) named.add('HEAD')
  build(entries, false, false) // an invalid path throws now, not at the first request

  return (req, path = fullPath(req)) => {
    if (entries.length === 0) return undefined
    const { all, each } = routersFor(req)
    const found = ask(all, req, path)
    if (found !== UNDECODED) return found
    for (const one of each) {
      const foundHere = ask(one, req, path)
      if (foundHere !== UNDECODED && foundHere !== undefined) return foundHere
    }
    return undefined
  }

  /** Express's router is synchronous here: the first matching layer sets the result before the call returns. */
  function ask(router: ExpressRouter, { method }: Request, url: string): Probe<T>['found'] {
    const probe: Probe<T> = { method, url, found: undefined }
    router(probe as unknown as Request, {} as Response, () => undefined)
    return probe.found
  }

  function routersFor({ app, method }: Request): Routers {
    const caseSensitive = enabled(app, 'case sensitive routing')
    const strict = enabled(app, 'strict routing')
    const key = `${caseSensitive} ${strict} ${named.has(method) ? method : 'any other'}`
    let known = routers.get(key)
    if (!known) {
      const taking = entries.filter(({ methods }) => !methods || takes(methods, method))
      const each = taking.map((entry) => build([entry], caseSensitive, strict))
      routers.set(key, (known = { all: build(taking, caseSensitive, strict), each }))
    }
    return known
  }

  function build(taking: readonly RouteEntry<T>[], caseSensitive: boolean, strict: boolean): ExpressRouter {
    const router = Router({ caseSensitive, strict })
    for (const { path, value } of taking) {
      try {
        const find = (req: Request) => void ((req as unknown as Probe<T>).found = value)
        if (path === '/') router.all(path, find)
        else router.use(path, find)
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause)
        throw optionError(`${option}: Express does not take the path ${JSON.stringify(path)}: ${why}`, TypeError, {
          cause,
        })
      }
    }
    return router.use(nothingFound, undecoded)
  }
}

/** Ends the search in this turn of the event loop. */
function nothingFound(): void {}

// Four parameters make it an error handler for Express.
function undecoded(_err: unknown, req: Request, _res: Response, _next: NextFunction): void {
  ;(req as unknown as Probe<unknown>).found = UNDECODED
}

/** Express routes HEAD to GET handlers. */
function takes(methods: ReadonlySet<string>, method: string): boolean {
  return methods.has(method) || (method === 'HEAD' && methods.has('GET'))
}

function enabled(app: Application | undefined, setting: string): boolean {
  return app?.enabled(setting) ?? false
}
