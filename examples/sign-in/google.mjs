// "Sign in with Google". The first time, the user signs in by password as well, which links the two; then Google is enough.
import { askGoogle, linked } from './ask-google.mjs'
import { alert, app, issuer, port, server, stepsOf } from './setup.mjs'

const page = ({ interaction, error }, link) => `<!doctype html><html lang="en"><title>Sign in</title><h1>Sign in</h1>
${alert(error)}
${link ? '<p>To link your Google account, sign in with your password once.</p>' : ''}
<form method="post"><label>Name <input name="name"></label>
<label>Password <input name="password" type="password"></label> <button>Sign in</button></form>
<p><a href="/sign-in/google?interaction=${encodeURIComponent(interaction)}">Sign in with Google</a></p></html>`

app.get('/sign-in', async (req, res) => {
  if (!(await server.interaction(req))) return server.refuse(req, res) // shows a page: start again from the app
  res.send(page(req.query, stepsOf(req).link))
})

app.post('/sign-in', async (req, res) => {
  const user = await server.authenticate(req, req.body?.name, req.body?.password)
  if (!user || 'refused' in user) return server.refuse(req, res, { error: 'login_failed' })
  const { link } = stepsOf(req) // the Google account that waits for this sign-in
  if (link) linked.set(link, user.id)
  await server.signIn(req, res, { userId: user.id, amr: ['pwd'] })
})

askGoogle((req, res, { id }, interaction) => server.signIn(req, res, { userId: id, amr: ['fed'], interaction }))

app.listen(port, () => console.log(issuer))
