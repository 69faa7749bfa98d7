// A sign-in page of your own: EJS, and an Express session that remembers the name between two steps.
import ejs from 'ejs'
import { app, issuer, port, server, stepsOf } from './setup.mjs'

// The form goes to the address of the page, which has the interaction in its query.
const page = ejs.compile(`<!doctype html><html lang="en"><title>Sign in</title>
<h1>Sign in to <%= asked.client.name %></h1>
<% if (error) { %><p role="alert"><%= says[error] ?? error %></p><% } %>
<form method="post">
  <% if (name) { %><p>Hello, <%= name %>.</p><label>Password <input name="password" type="password" autofocus></label>
  <% } else { %><label>Name <input name="name" value="<%= asked.loginHint ?? '' %>" autofocus></label><% } %>
  <button>Continue</button> <button name="action" value="back">Another name</button>
  <button name="action" value="cancel">Cancel</button>
</form></html>`)
const says = {
  login_failed: 'The name or the password is wrong.',
  too_many_attempts: 'There were too many attempts. Please try again in 15 minutes.',
  too_many_logins: 'Many people sign in at the moment. Please try again in a few seconds.',
}

app.get('/sign-in', async (req, res) => {
  const asked = await server.interaction(req)
  if (!asked) return server.refuse(req, res) // shows a page: start again from the app
  res.send(page({ asked, says, error: req.query.error, name: stepsOf(req).name }))
})

app.post('/sign-in', async (req, res) => {
  const { name, password, action } = req.body ?? {}
  if (action === 'cancel') return server.refuse(req, res)
  if (action === 'back' || password === undefined) {
    stepsOf(req).name = action === 'back' ? undefined : name
    return res.redirect(303, `/sign-in?interaction=${req.query.interaction}`)
  }
  const user = await server.authenticate(req, stepsOf(req).name, password)
  if (!user) return server.refuse(req, res, { error: 'login_failed' })
  if ('refused' in user) {
    const asked = await server.interaction(req)
    return res.status(403).send(page({ asked, says, error: user.refused, name: stepsOf(req).name })) // why, in your words
  }
  await server.signIn(req, res, { userId: user.id })
})

app.listen(port, () => console.log(issuer))
