import { Router } from 'express'
import { type Tokens, claimsIn, codeFlow, text } from './code-flow'
import { ISSUER_PATH } from './sign-in-server'

/**
 * The smallest web app that signs users in: `/login` sends the browser to the authorization server, `/callback` redeems
 * the code and shows the result.
 */
export function familyApp(origin: string): Router {
  const flow = codeFlow(origin + ISSUER_PATH, 'family-app', `${origin}/callback`)
  const router = Router()
  router.get('/login', (_req, res) => flow.begin(res))
  router.get('/callback', (req, res, next) => {
    res.type('text/plain')
    const found = flow.codeIn(req, res)
    if (typeof found === 'string') return void res.status(400).send(`${found} Start at /login.\n`)
    flow
      .redeem(found.code, found.verifier)
      .then(({ status, tokens }) => {
        res.status(status).send(status === 200 ? shown(origin, tokens) : JSON.stringify(tokens, undefined, 2))
      })
      .catch(next)
  })
  return router
}

/** The token response, the claims of the id_token, and a next command. */
function shown(origin: string, tokens: Tokens): string {
  return [
    `The token endpoint answered:\n${JSON.stringify(tokens, undefined, 2)}`,
    `The id_token says:\n${JSON.stringify(claimsIn(tokens.id_token), undefined, 2)}`,
    `To go on:\ncurl -i '${origin}/platform/users/current' -H 'Authorization: Bearer ${text(tokens.access_token)}'\n`,
  ].join('\n\n')
}
