// What the recipes share: an authorization server whose sign-in page is the app's own, and an Express session for the page.
import express from 'express'
import session from 'express-session'
import { authorizationServer, clientDirectory, userDirectory } from 'express-tollgate/oauth'

export const port = Number(process.env.PORT ?? 3000)
const home = process.env.APP ?? 'http://localhost:5173' // of the app to which people sign in
export const issuer = `http://localhost:${port}`
export const users = userDirectory([
  { id: 'u-1', username: 'ada', password: 'analytical engine' },
  { id: 'u-2', username: 'grace', password: 'analytical engine' },
])
export const server = authorizationServer({
  issuer,
  clients: clientDirectory([{ clientId: 'web', name: 'Web App', redirectUris: [`${home}/callback`] }]),
  users,
  login: { url: '/sign-in' },
})

export const app = express()
app.set('tollgate dialect', 'standard')
app.use(server)
// Only these pages need it. In production give it a store, and a secret from your vault.
const secret = process.env.SESSION_SECRET ?? 'a secret for development'
const options = { secret, resave: false, saveUninitialized: false }
app.use(['/sign-in', '/passkeys'], session({ ...options, cookie: { sameSite: 'lax', secure: 'auto' } }))
app.use(['/sign-in', '/passkeys'], express.urlencoded())
app.use('/sign-in', (_req, res, next) => {
  res.set('Content-Security-Policy', "frame-ancestors 'none'") // no other site shows the page in a frame
  next()
})

/** What one sign-in keeps in the session between its steps. Each tab has its own; the newest 20 are kept. */
export function stepsOf({ session, query }, interaction = query.interaction) {
  const known = session.signIns?.find((one) => one.interaction === interaction)
  if (known) return known
  const steps = { interaction }
  session.signIns = [...(session.signIns ?? []), steps].slice(-20)
  return steps
}

const SAYS = new Map([
  ['login_failed', 'That was wrong.'],
  ['login_refused', 'This account may not sign in.'],
  ['google', 'Google did not sign you in. Please try again, or use your password.'],
])
/** What the pages say of an error in their query. */
export const alert = (error) => (error ? `<p role="alert">${SAYS.get(error) ?? 'Please try again later.'}</p>` : '')
