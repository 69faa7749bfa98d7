// A second factor: a code of an authenticator app (TOTP, RFC 6238), after the password.
import { verify } from 'otplib'
import { app, issuer, port, server } from './setup.mjs'

// In your database, by user id: the secret, made by generateSecret() of otplib, and the step of the last code.
const factors = new Map([['u-1', { secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', lastStep: undefined }]])

const field = (name, label, type = 'text') => `<label>${label} <input name="${name}" type="${type}"></label>`
const page = (fields, error) => `<!doctype html><html lang="en"><title>Sign in</title><h1>Sign in</h1>
${error ? `<p role="alert">${error === 'login_failed' ? 'That was wrong.' : 'Please try again later.'}</p>` : ''}
<form method="post">${fields} <button>Continue</button></form></html>`

app.get('/sign-in', async (req, res) => {
  if (!(await server.interaction(req))) return server.refuse(req, res) // shows a page: start again from the app
  const isSecond = req.session.passed?.interaction === req.query.interaction
  const fields = isSecond ? field('code', 'Code') : field('name', 'Name') + field('password', 'Password', 'password')
  res.send(page(fields, req.query.error))
})

app.post('/sign-in', async (req, res) => {
  const { name, password, code } = req.body ?? {}
  const { interaction } = req.query
  if (code === undefined) {
    const user = await server.authenticate(req, name, password)
    if (!user || 'refused' in user) return server.refuse(req, res, { error: 'login_failed' })
    if (!factors.has(user.id)) return server.signIn(req, res, { userId: user.id, acr: 'pwd', amr: ['pwd'] })
    req.session.passed = { userId: user.id, account: user.username, interaction } // of this sign-in alone
    return res.redirect(303, `/sign-in?interaction=${interaction}`)
  }
  const { passed } = req.session
  if (!passed || passed.interaction !== interaction) return res.redirect(303, req.originalUrl)
  const factor = factors.get(passed.userId)
  const options = { secret: factor.secret, token: String(code), epochTolerance: 30, afterTimeStep: factor.lastStep }
  const { valid, timeStep } = await verify(options).catch(() => ({ valid: false })) // such as five digits
  if (!valid) return server.refuse(req, res, { error: 'login_failed', account: passed.account })
  factor.lastStep = timeStep // a code is good once; in a database: update … where last_step < timeStep
  await server.signIn(req, res, { userId: passed.userId, acr: 'mfa', amr: ['pwd', 'otp'] })
})

app.listen(port, () => console.log(issuer))
