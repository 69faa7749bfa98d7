import { Router } from 'express'
import { type Tokens, claimsIn, codeFlow, text } from './code-flow'
import { type PagePart, sendPage } from './page'
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
    const found = flow.codeIn(req, res)
    if (typeof found === 'string') return sendPage(res, 400, 'You are not signed in', [found], [['/login', 'Sign in']])
    flow
      .redeem(found.code, found.verifier)
      .then(({ status, tokens }) => {
        if (status === 200) sendPage(res, 200, 'You are signed in', shown(origin, tokens), [['/', 'To the console']])
        else sendPage(res, status, 'You are not signed in', [answerOf(tokens)], [['/login', 'Sign in']])
      })
      .catch(next)
  })
  return router
}

/** The claims of the id_token, a next command, and the token response. */
function shown(origin: string, tokens: Tokens): PagePart[] {
  const token = text(tokens.access_token)
  return [
    'This page is an app of its own, the smallest that signs users in. A real app keeps the tokens to itself.',
    { heading: 'Who it is: claims of the id_token', text: JSON.stringify(claimsIn(tokens.id_token), undefined, 2) },
    {
      heading: 'A first request, for a terminal',
      text: `curl -i '${origin}/platform/users/current' -H 'Authorization: Bearer ${token}'`,
    },
    answerOf(tokens),
  ]
}

function answerOf(tokens: Tokens): PagePart {
  return { heading: 'Answer of the token endpoint', text: JSON.stringify(tokens, undefined, 2) }
}
