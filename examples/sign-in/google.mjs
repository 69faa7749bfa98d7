// "Sign in with Google". The first time, the user signs in by password as well, which links the two; then Google is enough.
import * as oidc from 'openid-client'
import { alert, app, issuer, port, server } from './setup.mjs'

// At Google, register this redirect URI: http://localhost:3000/sign-in/google/callback
const { GOOGLE = 'https://accounts.google.com', GOOGLE_ID = 'from Google', GOOGLE_SECRET } = process.env
/** Google's metadata, read when the first user needs it. While Google is down, passwords still work. */
let metadata
const google = async () => (metadata ??= await oidc.discovery(new URL(GOOGLE), GOOGLE_ID, GOOGLE_SECRET))
const failed = (err) => console.error('Google:', err.error ?? err.code ?? err.message)
// In your database: the user's id by Google's `sub`. Never by e-mail alone: an address may get another owner.
const linked = new Map()

const page = ({ interaction, error }, link) => `<!doctype html><html lang="en"><title>Sign in</title><h1>Sign in</h1>
${alert(error)}
${link ? '<p>To link your Google account, sign in with your password once.</p>' : ''}
<form method="post"><label>Name <input name="name"></label>
<label>Password <input name="password" type="password"></label> <button>Sign in</button></form>
<p><a href="/sign-in/google?interaction=${encodeURIComponent(interaction)}">Sign in with Google</a></p></html>`

/** The Google account that waits for this sign-in. */
const linkOf = ({ session: { link }, query }) => (link?.interaction === query.interaction ? link : undefined)

app.get('/sign-in', async (req, res) => {
  if (!(await server.interaction(req))) return server.refuse(req, res) // shows a page: start again from the app
  res.send(page(req.query, linkOf(req)))
})

app.post('/sign-in', async (req, res) => {
  const user = await server.authenticate(req, req.body?.name, req.body?.password)
  if (!user || 'refused' in user) return server.refuse(req, res, { error: 'login_failed' })
  const link = linkOf(req)
  if (link) linked.set(link.sub, user.id)
  await server.signIn(req, res, { userId: user.id, amr: ['pwd'] })
})

app.get('/sign-in/google', async (req, res) => {
  if (!(await server.interaction(req))) return server.refuse(req, res)
  const config = await google().catch(failed)
  if (!config) return res.redirect(303, `/sign-in?interaction=${req.query.interaction}&error=google`)
  const [verifier, state, nonce] = [oidc.randomPKCECodeVerifier(), oidc.randomState(), oidc.randomNonce()]
  const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce }
  req.session.google = { ...checks, interaction: req.query.interaction }
  const pkce = { code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' }
  const asked = { redirect_uri: `${issuer}/sign-in/google/callback`, scope: 'openid email', state, nonce, ...pkce }
  res.redirect(303, oidc.buildAuthorizationUrl(config, asked).href)
})

app.get('/sign-in/google/callback', async (req, res) => {
  const { google: begun } = req.session
  delete req.session.google
  if (!begun) return server.refuse(req, res) // nothing was begun in this browser: shows a page
  const { interaction, ...checks } = begun
  const url = new URL(req.originalUrl, issuer)
  const tokens = await google()
    .then((config) => oidc.authorizationCodeGrant(config, url, checks))
    .catch(failed)
  const sub = tokens?.claims()?.sub
  const userId = linked.get(sub)
  if (userId) return server.signIn(req, res, { userId, amr: ['fed'], interaction })
  if (sub) req.session.link = { sub, interaction }
  res.redirect(303, `/sign-in?interaction=${interaction}${sub ? '' : '&error=google'}`)
})

app.listen(port, () => console.log(issuer))
