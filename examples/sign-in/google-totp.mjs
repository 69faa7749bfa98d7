// A password or Google, and then a code: one page for all first steps, and one way to end. Otherwise as google.mjs and totp.mjs.
import { verify } from 'otplib'
import { askGoogle, linked } from './ask-google.mjs'
import { alert, app, issuer, port, server, stepsOf } from './setup.mjs'

// In your database, by user id: the second factors.
const factors = new Map([['u-1', { secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', lastStep: undefined }]])

const field = (name, label, type = 'text') => `<label>${label} <input name="${name}" type="${type}"></label>`
const page = (fields, { interaction, error }) => `<!doctype html><html lang="en"><title>Sign in</title><h1>Sign in</h1>
${alert(error)}<form method="post">${fields} <button>Continue</button></form>
<p><a href="/sign-in/google?interaction=${encodeURIComponent(interaction)}">Sign in with Google</a></p></html>`

app.get('/sign-in', async (req, res) => {
  if (!(await server.interaction(req))) return server.refuse(req, res) // shows a page: start again from the app
  const { passed, link } = stepsOf(req)
  if (passed) return res.send(page(field('code', 'Code'), req.query))
  const note = link ? '<p>To link your Google account, sign in with your password once.</p>' : ''
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
  const { passed } = stepsOf(req)
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
  stepsOf(req, passed.interaction).passed = passed
  res.redirect(303, `/sign-in?interaction=${passed.interaction}`)
}

/** The whole proof. Only here a Google account is linked. */
async function end(req, res, { userId, acr, amr, interaction }) {
  const { link } = stepsOf(req, interaction)
  if (link) linked.set(link, userId)
  await server.signIn(req, res, { userId, acr, amr, interaction })
}

askGoogle((req, res, { id, username }, interaction) =>
  afterFirst(req, res, { userId: id, account: username, amr: ['fed'], interaction }),
)

app.listen(port, () => console.log(issuer))
