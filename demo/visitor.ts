import { createHash, randomBytes } from 'node:crypto'
import { ISSUER_PATH, SERVICE_SECRET, users } from './sign-in-server'

/**
 * Tokens for the commands that the demo prints. It requests them over HTTP like every client, and is its own browser.
 */
export class Visitor {
  readonly #issuer: string
  readonly #redirectUri: string

  /** @param origin of the demo, which is already listening */
  constructor(origin: string) {
    this.#issuer = origin + ISSUER_PATH
    this.#redirectUri = `${origin}/callback`
  }

  /** Signs a user in, accepts the terms, and redeems the code. */
  async userToken(username: string, clientId: string): Promise<string> {
    const user = users.find((each) => each.username === username)
    if (!user) throw new Error(`the demo has no user ${username}`)
    const verifier = randomBytes(32).toString('base64url')
    const params = new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: this.#redirectUri,
      scope: 'profile',
      state: 'demo',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    })
    const cookies = new Map<string, string>()
    let answer = await visit(`${this.#issuer}/authorization?${params.toString()}`, cookies)
    for (const filledIn of [{ username, password: user.password, action: 'login' }, { action: 'accept' }]) {
      if (answer.headers.has('location')) break
      const { action, fields } = formIn(await answer.text())
      const body = new URLSearchParams({ ...fields, ...filledIn })
      answer = await visit(new URL(action, this.#issuer).href, cookies, body)
    }
    const code = new URL(answer.headers.get('location') ?? '').searchParams.get('code') ?? ''
    const form = { grant_type: 'authorization_code', client_id: clientId, code, redirect_uri: this.#redirectUri }
    return this.#token({ ...form, code_verifier: verifier })
  }

  /** An app without a user. */
  unauthenticatedToken(): Promise<string> {
    return this.#token({ grant_type: 'unauthenticated_session', client_id: 'visitor-app', ip_address: '127.0.0.1' })
  }

  /** A service account. */
  serviceToken(): Promise<string> {
    const credentials = Buffer.from(`nightly-import:${SERVICE_SECRET}`).toString('base64')
    return this.#token(
      { grant_type: 'client_credentials', scope: 'tree.read' },
      { authorization: `Basic ${credentials}` },
    )
  }

  async #token(form: Record<string, string>, headers: Record<string, string> = {}): Promise<string> {
    const answer = await fetch(`${this.#issuer}/token`, { method: 'POST', headers, body: new URLSearchParams(form) })
    const { access_token: token } = (await answer.json()) as { access_token?: string }
    if (token === undefined) throw new Error(`the demo's own token endpoint answered ${answer.status}`)
    return token
  }
}

async function visit(url: string, cookies: Map<string, string>, body?: URLSearchParams): Promise<Response> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const init = { redirect: 'manual', headers: { cookie }, ...(body && { method: 'POST', body }) } as const
  const answer = await fetch(url, init)
  for (const line of answer.headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    cookies.set(name, value)
  }
  return answer
}

/** The page's form: its action and hidden fields. */
function formIn(page: string): { action: string; fields: Record<string, string> } {
  const action = /<form method="post" action="([^"]*)"/.exec(page)?.[1] ?? ''
  const hidden = page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)
  const fields = Object.fromEntries([...hidden].map(([, name = '', value = '']) => [name, unescaped(value)]))
  return { action: unescaped(action), fields }
}

function unescaped(html: string): string {
  return html.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))).replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&') // prettier-ignore
}
