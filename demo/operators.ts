import { randomBytes } from 'node:crypto'
import { type Request, type RequestHandler, Router } from 'express'
import { claimsIn, codeFlow } from './code-flow'
import { sendPage } from './page'
import { ISSUER_PATH, users } from './sign-in-server'

/** Lifetime of an operator's session. */
const SESSION_MS = 3_600_000

/** Cookie of an operator's session, limited to the guarded path. */
const COOKIE = 'operator'

/** User who may see the dashboard and reset subjects. */
const OPERATORS = new Set(users.filter(({ username }) => username === 'ada').map(({ id }) => id))

/** Admits operators and redirects everybody else to the sign-in. */
export interface Operators {
  /** For `throttleDashboard({ guard })`. */
  readonly guard: RequestHandler
  /** Router of the callback. Mount it before the guarded path. */
  readonly router: Router
}

/**
 * @param origin of the demo
 * @param path the guarded path: `/admin/throttle`
 */
export function operators(origin: string, path: string): Operators {
  const back = `${path}/signed-in`
  const flow = codeFlow(origin + ISSUER_PATH, 'dashboard', origin + back)
  const sessions = new Map<string, number>() // end of each session
  const router = Router()

  router.get(back, (req, res, next) => {
    const found = flow.codeIn(req, res)
    if (typeof found === 'string') return sendPage(res, 400, 'You are not signed in', [found], [[path, 'Sign in']])
    flow
      .redeem(found.code, found.verifier)
      .then(({ tokens }) => {
        if (!OPERATORS.has(String(claimsIn(tokens.id_token).sub))) {
          const says = 'Only ada may see the dashboard. Sign out, then open it again and sign in as ada.'
          return sendPage(
            res,
            403,
            'This page is for operators',
            [says],
            [
              [`${ISSUER_PATH}/logout`, 'Sign out'],
              [path, 'Open the dashboard'],
            ],
          )
        }
        const id = randomBytes(32).toString('base64url')
        sessions.set(id, Date.now() + SESSION_MS)
        res.cookie(COOKIE, id, { httpOnly: true, sameSite: 'lax', maxAge: SESSION_MS, path })
        res.redirect(`${path}/`)
      })
      .catch(next)
  })

  function guard(...[req, res, next]: Parameters<RequestHandler>): void {
    const endsAt = sessions.get(cookieOf(req) ?? '')
    if (endsAt !== undefined && endsAt > Date.now()) return next()
    // A page load can be redirected to the sign-in. A script's request gets 401.
    if (req.method === 'GET' && req.accepts('html') && !req.headers.accept?.includes('event-stream')) flow.begin(res)
    else res.status(401).end()
  }

  return { guard, router }
}

function cookieOf(req: Request): string | undefined {
  return new RegExp(`(?:^|; )${COOKIE}=([\\w-]{43})(?:;|$)`).exec(req.headers.cookie ?? '')?.[1]
}
