import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Router } from 'express'

/** Only what this origin serves, nothing inline, and nobody may frame it. */
const POLICY = [
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:",
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
].join('; ')

/** What the console is made of: where it is asked for, in which file it lies, what it is. */
const FILES = [
  ['/', 'page.html', 'text/html; charset=utf-8'],
  ['/console.css', 'console.css', 'text/css; charset=utf-8'],
  ['/console.js', 'console.js', 'text/javascript; charset=utf-8'],
] as const

/**
 * The console: a page that signs somebody in, calls the resources and shows what each call costs. It is an app like any
 * other, a public client with PKCE: all that it knows comes over HTTP.
 */
export function consolePages(): Router {
  const router = Router()
  for (const [path, file, type] of FILES) {
    const content = readFileSync(join(process.cwd(), 'demo/console', file))
    router.get(path, (_req, res) => {
      res.set({
        'Content-Security-Policy': POLICY,
        'X-Content-Type-Options': 'nosniff',
        'Referrer-Policy': 'no-referrer', // the address has a code in it when somebody comes back from signing in
        'Cache-Control': 'no-cache',
      })
      res.type(type).send(content)
    })
  }
  return router
}
