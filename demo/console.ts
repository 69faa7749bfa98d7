import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Router } from 'express'

/** Content Security Policy: only this origin, nothing inline, no frames. */
const POLICY = [
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:",
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
].join('; ')

/** Files of the console: path, file, media type. */
const FILES = [
  ['/', 'page.html', 'text/html; charset=utf-8'],
  ['/console.css', 'console.css', 'text/css; charset=utf-8'],
  ['/console.js', 'console.js', 'text/javascript; charset=utf-8'],
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
      res.set({
        'Content-Security-Policy': POLICY,
        'X-Content-Type-Options': 'nosniff',
        'Referrer-Policy': 'no-referrer', // the callback's address contains a code
        'Cache-Control': 'no-cache',
      })
      res.type(type).send(content)
    })
  }
  return router
}
