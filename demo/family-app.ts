import { createHash, randomBytes } from 'node:crypto'
import { Router } from 'express'
import { ISSUER_PATH } from './sign-in-server'

/** How long somebody may take to sign in. */
const SIGN_IN_MS = 600_000

/**
 * The smallest web app that signs users in (authorization code with PKCE, RFC 7636): `/login` sends the browser to the
 * authorization server, `/callback` redeems the code that it comes back with and shows what came of it.
 */
export function familyApp(origin: string): Router {
  const issuer = origin + ISSUER_PATH
  const redirectUri = `${origin}/callback`
  const router = Router()

  router.get('/login', (_req, res) => {
    const [state, verifier] = [randomBytes(16).toString('hex'), randomBytes(32).toString('base64url')]
    const params = new URLSearchParams({
      response_type: 'code',
      client_id: 'family-app',
      redirect_uri: redirectUri,
      scope: 'openid profile email',
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })
    // Only the browser that began may end: its cookie has the verifier, and is named after the state.
    res.cookie(`sign-in-${state}`, verifier, { httpOnly: true, sameSite: 'lax', maxAge: SIGN_IN_MS, path: '/callback' })
    res.redirect(`${issuer}/authorization?${params.toString()}`)
  })

  router.get('/callback', (req, res, next) => {
    const { state, code, error, error_description: why } = req.query as Record<string, unknown>
    const verifier = new RegExp(`(?:^|; )sign-in-${hex(state)}=([\\w-]{43})(?:;|$)`).exec(req.headers.cookie ?? '')?.[1]
    res.type('text/plain')
    if (verifier === undefined) return void res.status(400).send('This sign-in did not begin here. Start at /login.\n')
    res.clearCookie(`sign-in-${hex(state)}`, { path: '/callback' })
    if (typeof code !== 'string') return void res.status(400).send(`${text(error)}: ${text(why)}\n`)
    const form = { grant_type: 'authorization_code', client_id: 'family-app', code, redirect_uri: redirectUri }
    fetch(`${issuer}/token`, { method: 'POST', body: new URLSearchParams({ ...form, code_verifier: verifier }) })
      .then(async (answer) => {
        const tokens = (await answer.json()) as Record<string, unknown>
        res.status(answer.status).send(answer.ok ? shown(origin, tokens) : JSON.stringify(tokens, undefined, 2))
      })
      .catch(next)
  })

  return router
}

/** The token response, what the id_token says, and a line to go on with. */
function shown(origin: string, tokens: Record<string, unknown>): string {
  const payload = text(tokens.id_token).split('.')[1] ?? ''
  const idToken = JSON.parse(Buffer.from(payload, 'base64url').toString()) as unknown
  return [
    `The token endpoint answered:\n${JSON.stringify(tokens, undefined, 2)}`,
    `The id_token says:\n${JSON.stringify(idToken, undefined, 2)}`,
    `To go on:\ncurl -i '${origin}/platform/users/current' -H 'Authorization: Bearer ${text(tokens.access_token)}'\n`,
  ].join('\n\n')
}

function hex(value: unknown): string {
  return typeof value === 'string' && /^[\da-f]{32}$/.test(value) ? value : 'none'
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
