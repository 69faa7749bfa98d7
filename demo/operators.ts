import { randomBytes } from 'node:crypto'
import { type Request, type RequestHandler, Router } from 'express'
import { claimsIn, codeFlow } from './code-flow'
import { ISSUER_PATH, users } from './sign-in-server'

/** How long an operator stays signed in. */
const SESSION_MS = 3_600_000

/** The cookie of an operator's session; no other page needs it. */
const COOKIE = 'operator'

/** Who may see the dashboard and reset subjects: of the demo's users, ada. */
const OPERATORS = new Set(users.filter(({ username }) => username === 'ada').map(({ id }) => id))

/** Lets operators in, and sends everybody else's browser to the sign-in. */
export interface Operators {
  /** For `throttleDashboard({ guard })`. */
  readonly guard: RequestHandler
  /** Has the address that the browser comes back to. It stands before what is guarded. */
  readonly router: Router
}

/**
 * @param origin where the demo listens
 * @param path of what they may see: `/admin/throttle`
 */
export function operators(origin: string, path: string): Operators {
  const back = `${path}/signed-in`
  const flow = codeFlow(origin + ISSUER_PATH, 'dashboard', origin + back)
  const sessions = new Map<string, number>() // when each ends
  const router = Router()

  router.get(back, (req, res, next) => {
    const found = flow.codeIn(req, res)
    if (typeof found === 'string') return void res.status(400).type('text/plain').send(`${found} Start at ${path}.\n`)
    flow
      .redeem(found.code, found.verifier)
      .then(({ tokens }) => {
        if (!OPERATORS.has(String(claimsIn(tokens.id_token).sub))) {
          return void res
            .status(403)
            .type('text/plain')
            .send('Only ada may see the dashboard. Sign out and try again.\n')
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
    // A page can be signed in to; a script of the page can only hear that its session is over.
    if (req.method === 'GET' && req.accepts('html') && !req.headers.accept?.includes('event-stream')) flow.begin(res)
    else res.status(401).end()
  }

  return { guard, router }
}

function cookieOf(req: Request): string | undefined {
  return new RegExp(`(?:^|; )${COOKIE}=([\\w-]{43})(?:;|$)`).exec(req.headers.cookie ?? '')?.[1]
}
