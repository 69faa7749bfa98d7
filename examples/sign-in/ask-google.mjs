// The way to Google and back: the recipes with Google share it.
import * as oidc from 'openid-client'
import { app, issuer, server, stepsOf, users } from './setup.mjs'

// At Google, register this redirect URI: http://localhost:3000/sign-in/google/callback
const { GOOGLE = 'https://accounts.google.com', GOOGLE_ID = 'from Google', GOOGLE_SECRET } = process.env
/** Google's metadata, read when the first user needs it. While Google is down, passwords still work. */
let metadata
const google = async () => (metadata ??= await oidc.discovery(new URL(GOOGLE), GOOGLE_ID, GOOGLE_SECRET))
const failed = (err) => console.error('Google:', err.error ?? err.code ?? err.message)
// In your database: the user's id by Google's `sub`. Never by e-mail alone: an address may get another owner.
export const linked = new Map()

/** Adds the pages of the way. `signedIn(req, res, user, interaction)` hears of a user whose Google account is linked. */
export function askGoogle(signedIn) {
  app.get('/sign-in/google', async (req, res) => {
    if (!(await server.interaction(req))) return server.refuse(req, res)
    const config = await google().catch(failed)
    if (!config) return res.redirect(303, `/sign-in?interaction=${req.query.interaction}&error=google`)
    const [verifier, state, nonce] = [oidc.randomPKCECodeVerifier(), oidc.randomState(), oidc.randomNonce()]
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce }
    stepsOf(req).google = checks
    const pkce = { code_challenge: await oidc.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' }
    const asked = { redirect_uri: `${issuer}/sign-in/google/callback`, scope: 'openid email', state, nonce, ...pkce }
    res.redirect(303, oidc.buildAuthorizationUrl(config, asked).href)
  })

  app.get('/sign-in/google/callback', async (req, res) => {
    // The state says which tab comes back.
    const steps = req.session.signIns?.find(({ google }) => google && google.expectedState === req.query.state)
    if (!steps) return server.refuse(req, res) // not begun in this browser: shows a page
    const { interaction, google: checks } = steps
    delete steps.google
    const url = new URL(req.originalUrl, issuer)
    const tokens = await google()
      .then((config) => oidc.authorizationCodeGrant(config, url, checks))
      .catch(failed)
    const sub = tokens?.claims()?.sub
    const user = linked.has(sub) ? await users.findUser(linked.get(sub)) : undefined
    if (user) return signedIn(req, res, user, interaction)
    if (sub) steps.link = sub
    res.redirect(303, `/sign-in?interaction=${interaction}${sub ? '' : '&error=google'}`)
  })
}
