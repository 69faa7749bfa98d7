import type { IncomingMessage } from 'node:http'

/** What Express and Connect add to a request. */
type RoutedRequest = IncomingMessage & {
  readonly baseUrl?: string
  readonly path?: string
  readonly originalUrl?: string
}

/**
 * Path of a request from the root of the app, without the query. Outside Express it comes from the original URL, because
 * mounts of Connect and Vite cut `req.url`.
 *
 * @example '/platform/tree/search'
 */
export function fullPath(req: RoutedRequest): string {
  const { baseUrl, path, originalUrl, url = '' } = req
  if (baseUrl !== undefined) return baseUrl + (path ?? pathOf(url)) // a router without an app adds no path
  return pathOf(originalUrl ?? url)
}

function pathOf(url: string): string {
  const target = url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '') // absolute-form, RFC 9112 §3.2.2
  const pathname = (/^[^?#]*/.exec(target) as RegExpExecArray)[0]
  return pathname === '' ? '/' : pathname
}
