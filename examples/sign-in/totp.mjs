// A second factor: a code of an authenticator app (TOTP, RFC 6238), after the password.
import { generateSecret, generateURI, verify } from 'otplib'
import { alert, app, issuer, port, server, stepsOf, users } from './setup.mjs'

// In your database, by user id: the secret, and the step of the last code.
const factors = new Map([['u-1', { secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', lastStep: undefined }]])

/** Whether a code is right and newer than the last one. Sets the step of the last one. */
async function isRight(factor, code) {
  const options = { secret: factor.secret, token: String(code), epochTolerance: 30, afterTimeStep: factor.lastStep }
  const { valid, timeStep } = await verify(options).catch(() => ({ valid: false })) // such as five digits
  if (valid) factor.lastStep = timeStep // a code is good once; in a database: update … where last_step < timeStep
  return valid
}

const field = (name, label, type = 'text') => `<label>${label} <input name="${name}" type="${type}"></label>`
const page = (fields, error) => `<!doctype html><html lang="en"><title>Sign in</title><h1>Sign in</h1>
${alert(error)}<form method="post">${fields} <button>Continue</button></form></html>`

app.get('/sign-in', async (req, res) => {
  if (!(await server.interaction(req))) return server.refuse(req, res) // shows a page: start again from the app
  const fields = stepsOf(req).passed
    ? field('code', 'Code')
    : field('name', 'Name') + field('password', 'Password', 'password')
  res.send(page(fields, req.query.error))
})

app.post('/sign-in', async (req, res) => {
  const { name, password, code } = req.body ?? {}
  const steps = stepsOf(req)
  if (code === undefined) {
    const user = await server.authenticate(req, name, password)
    if (!user || 'refused' in user) return server.refuse(req, res, { error: 'login_failed' })
    if (!factors.has(user.id)) return server.signIn(req, res, { userId: user.id, acr: 'pwd', amr: ['pwd'] })
    steps.passed = { userId: user.id, account: user.username } // of this sign-in alone
    return res.redirect(303, `/sign-in?interaction=${req.query.interaction}`)
  }
  const { passed } = steps
  if (!passed) return res.redirect(303, req.originalUrl)
  const isGood = await isRight(factors.get(passed.userId), code)
  if (!isGood) return server.refuse(req, res, { error: 'login_failed', account: passed.account })
  await server.signIn(req, res, { userId: passed.userId, acr: 'mfa', amr: ['pwd', 'otp'] })
})

// A user who is signed in, and has no second factor yet, adds one here.
app.all('/sign-in/factor', async (req, res) => {
  const { userId } = (await server.websiteSession(req)) ?? {}
  if (!userId) return res.status(401).send('Sign in first')
  if (factors.has(userId)) return res.status(409).send('You have a second factor')
  if (req.session.added?.userId !== userId) req.session.added = { userId, secret: generateSecret() }
  const factor = { secret: req.session.added.secret, lastStep: undefined }
  if (req.body?.code !== undefined && (await isRight(factor, req.body.code))) {
    delete req.session.added
    factors.set(userId, factor) // with the step of this first code
    return res.send('The second factor has been added')
  }
  const { username } = await users.findUser(userId)
  const uri = generateURI({ issuer: 'Example', label: username, secret: factor.secret })
  const failed = req.body?.code === undefined ? undefined : 'login_failed'
  res.send(page(`<p>${uri.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</p>${field('code', 'Code')}`, failed)) // show the URI as a QR code
})

app.listen(port, () => console.log(issuer))
