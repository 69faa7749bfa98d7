// Passkeys (WebAuthn): a user who is signed in adds one at /passkeys, and signs in with it from then on.
import * as webauthn from '@simplewebauthn/server'
import ejs from 'ejs'
import { alert, app, issuer, port, server, stepsOf, users } from './setup.mjs'

const rpID = 'localhost' // your domain
const passkeys = new Map() // in your database: { userId, credential } by the id of the passkey

app.engine('ejs', ejs.renderFile).set('views', import.meta.dirname)

/** Checks what the browser's authenticator signed. A challenge is good once. Undefined if it is wrong. */
async function check(verify, req, credentialOf) {
  const steps = stepsOf(req)
  const expected = { expectedChallenge: steps.challenge ?? '', expectedOrigin: issuer, expectedRPID: rpID }
  delete steps.challenge
  const response = JSON.parse(req.body.passkey)
  const answer = await verify({ response, credential: credentialOf?.(response.id), ...expected })
  return answer.verified ? { id: response.id, ...answer } : undefined
}

app.get('/sign-in', async (req, res) => {
  if (!(await server.interaction(req))) return server.refuse(req, res) // shows a page: start again from the app
  const options = await webauthn.generateAuthenticationOptions({ rpID, userVerification: 'required' })
  stepsOf(req).challenge = options.challenge
  res.render('passkeys.ejs', { options, alert: alert(req.query.error) })
})

app.post('/sign-in', async (req, res) => {
  const { passkey, name, password } = req.body ?? {}
  if (passkey === undefined) {
    const user = await server.authenticate(req, name, password)
    if (!user || 'refused' in user) return server.refuse(req, res, { error: 'login_failed' })
    return server.signIn(req, res, { userId: user.id, amr: ['pwd'] })
  }
  const credentialOf = (id) => passkeys.get(id)?.credential
  const used = await check(webauthn.verifyAuthenticationResponse, req, credentialOf).catch(() => undefined)
  if (!used) return res.redirect(303, `/sign-in?interaction=${req.query.interaction}&error=login_failed`)
  const { userId, credential } = passkeys.get(used.id)
  credential.counter = used.authenticationInfo.newCounter
  await server.signIn(req, res, { userId, acr: 'phr', amr: ['pop', 'user'] })
})

app.all('/passkeys', async (req, res) => {
  const { userId } = (await server.websiteSession(req)) ?? {}
  if (!userId) return res.status(401).send('Sign in first')
  if (req.body?.passkey) {
    const added = await check(webauthn.verifyRegistrationResponse, req).catch(() => undefined)
    if (added) passkeys.set(added.id, { userId, credential: added.registrationInfo.credential })
    return res.send(added ? 'The passkey has been added' : 'Please try again')
  }
  const { username: userName } = await users.findUser(userId)
  const options = await webauthn.generateRegistrationOptions({
    rpName: 'Example',
    rpID,
    userName,
    userID: Buffer.from(userId),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  stepsOf(req).challenge = options.challenge
  res.render('passkeys.ejs', { options })
})

app.listen(port, () => console.log(issuer))
