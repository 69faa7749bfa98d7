// A password or Google, and then a code: one page for all first steps, and one way to end. Otherwise as google.mjs and totp.mjs.
import * as oidc from 'openid-client'
import { verify } from 'otplib'
import { alert, app, issuer, port, server, users } from './setup.mjs'

const { GOOGLE = 'https://accounts.google.com', GOOGLE_ID = 'from Google', GOOGLE_SECRET } = process.env
let metadata
const google = async () => (metadata ??= await oidc.discovery(new URL(GOOGLE), GOOGLE_ID, GOOGLE_SECRET))
const failed = (err) => console.error('Google:', err.error ?? err.code ?? err.message)
// In your database: the user's id by Google's `sub`, and the second factors by user id.
const linked = new Map()
const factors = new Map([['u-1', { secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', lastStep: undefined }]])

const field = (name, label, type = 'text') => `<label>${label} <input name="${name}" type="${type}"></label>`
const page = (fields, { interaction, error }) => `<!doctype html><html lang="en"><title>Sign in</title><h1>Sign in</h1>
${alert(error)}<form method="post">${fields} <button>Continue</button></form>
<p><a href="/sign-in/google?interaction=${encodeURIComponent(interaction)}">Sign in with Google</a></p></html>`
/** What the session keeps, if it is of this sign-in. */
const ofThis = (kept, { query }) => (kept?.interaction === query.interaction ? kept : undefined)

app.get('/sign-in', async (req, res) => {
  if (!(await server.interaction(req))) return server.refuse(req, res) // shows a page: start again from the app
  if (ofThis(req.session.passed, req)) return res.send(page(field('code', 'Code'), req.query))
  const note = ofThis(req.session.link, req)
    ? '<p>To link your Google account, sign in with your password once.</p>'
    : ''
  res.send(page(note + field('name', 'Name') + field('password', 'Password', 'password'), req.query))
})

app.post('/sign-in', async (req, res) => {
  const { name, password, code } = req.body ?? {}
  const { interaction } = req.query
  if (code === undefined) {
    const user = await server.authenticate(req, name, password)
    if (!user || 'refused' in user) return server.refuse(req, res, { error: 'login_failed' })
    return afterFirst(req, res, { userId: user.id, account: user.username, amr: ['pwd'], interaction })
  }
  const passed = ofThis(req.session.passed, req)
  if (!passed) return res.redirect(303, req.originalUrl)
  const factor = factors.get(passed.userId)
  const options = { secret: factor.secret, token: String(code), epochTolerance: 30, afterTimeStep: factor.lastStep }
  const { valid, timeStep } = await verify(options).catch(() => ({ valid: false })) // such as five digits
  if (!valid) return server.refuse(req, res, { error: 'login_failed', account: passed.account })
  factor.lastStep = timeStep
  await end(req, res, { ...passed, acr: 'mfa', amr: [...passed.amr, 'otp'] })
})

/** Every first step leads here. */
async function afterFirst(req, res, passed) {
  if (!factors.has(passed.userId)) return end(req, res, { ...passed, acr: 'pwd' })
  req.session.passed = passed
  res.redirect(303, `/sign-in?interaction=${passed.interaction}`)
}

/** The whole proof. Only here a Google account is linked. */
async function end(req, res, { userId, acr, amr, interaction }) {
  const { link } = req.session
  if (link?.interaction === interaction) linked.set(link.sub, userId)
  await server.signIn(req, res, { userId, acr, amr, interaction })
}

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
  const user = linked.has(sub) ? await users.findUser(linked.get(sub)) : undefined
  if (user) return afterFirst(req, res, { userId: user.id, account: user.username, amr: ['fed'], interaction })
  if (sub) req.session.link = { sub, interaction }
  res.redirect(303, `/sign-in?interaction=${interaction}${sub ? '' : '&error=google'}`)
})

app.listen(port, () => console.log(issuer))
