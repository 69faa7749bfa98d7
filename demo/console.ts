import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Router } from 'express'
import { PAGE_HEADERS } from './page'

/** Files of the console: path, file, media type. */
const FILES = [
  ['/', 'page.html', 'text/html; charset=utf-8'],
  ['/console.css', 'console.css', 'text/css; charset=utf-8'],
  ['/console.js', 'console.js', 'text/javascript; charset=utf-8'],
  ['/favicon.ico', 'favicon.svg', 'image/svg+xml'], // browsers ask for this path, and take the type of the answer
] as const

/** Limit and length of a window, in milliseconds: what the page shows before its first request. */
export interface ConsoleTerms {
  readonly limitMs: number
  readonly windowMs: number
}

/**
 * The console: a page that signs a user in, calls the resources and shows the cost of each call. It is an ordinary app, a
 * public client with PKCE. It uses HTTP only.
 */
export function consolePages({ limitMs, windowMs }: ConsoleTerms, searches: ConsoleTerms): Router {
  const router = Router()
  for (const [path, file, type] of FILES) {
    const content = readFileSync(join(process.cwd(), 'demo/console', file), 'utf8')
      .replace('{{limitMs}}', String(limitMs))
      .replace('{{windowMs}}', String(windowMs))
      .replace('{{searchLimitMs}}', String(searches.limitMs))
      .replace('{{searchWindowMs}}', String(searches.windowMs))
    router.get(path, (_req, res) => {
      res.set(PAGE_HEADERS).set('Cache-Control', 'no-cache').type(type).send(content)
    })
  }
  return router
}
