import type { RequestHandler } from 'express'
import type { AuthorizationServerOptions, ClientRegistration } from '../../lib/oauth'
import { clientDirectory } from '../../lib/oauth'
import { type RunningServer, openServer } from '../oauth/support'
import { type Page, UserAgent } from '../oauth/user-agent'

export const SECRET = 'AbC+/0123456789abcdef=='

/** An authorization server, and on the same origin the app whose library is tried. */
export interface LoginSystem extends RunningServer {
  readonly callback: string
  /** Adds to the app. */
  mount(path: string, handler: RequestHandler): void
}

/**
 * @param app members of its registration in addition to the usual ones
 * @param first middleware before the server, such as CORS
 */
export async function startLoginSystem(
  app: (origin: string) => Partial<ClientRegistration> = () => ({ secret: SECRET }),
  options: Partial<AuthorizationServerOptions> = {},
  first?: RequestHandler,
): Promise<LoginSystem> {
  let clients = clientDirectory([])
  const directory = { findClient: (id: string) => clients.findClient(id) }
  const running = await openServer({ tokenType: 'Bearer', clients: directory, ...options }, first)
  const callback = `${running.origin}/cb`
  clients = clientDirectory([
    {
      clientId: 'app',
      name: 'App',
      realm: '/app',
      redirectUris: [callback],
      postLogoutRedirectUris: [running.origin],
      grants: ['authorization_code', 'refresh_token'],
      scopes: ['tree.read'],
      ...app(running.origin),
    },
  ])
  return { ...running, callback, mount: (path, handler) => void running.app.use(path, handler) }
}

/** Follows redirects, logs Ada in where asked to, accepts the terms, approves the app, and sends forms that submit themselves. */
export async function follow(agent: UserAgent, url: string, until: (url: string) => boolean): Promise<Page | string> {
  let page = await agent.request(url)
  for (let step = 0; step < 12; step++) {
    if (page.location !== null) {
      if (until(page.location)) return page.location
      page = await agent.request(page.location)
    } else if (page.title === 'Sign in') page = await page.logIn()
    else if (page.title === 'Terms of access' || page.title?.startsWith('Allow ')) page = await page.accept()
    else if (page.text.includes('submit()')) page = await page.submit({})
    else return page
  }
  throw new Error(`it went round and round: ${page.status} ${page.location}`)
}
