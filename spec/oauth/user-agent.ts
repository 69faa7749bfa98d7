import { CHALLENGE, type Form, type Tokens, VERIFIER, askToken } from './support'

/** A browser in a person's hands: keeps cookies, submits forms, and follows no redirect by itself. */
export class UserAgent {
  readonly cookies = new Map<string, string>()
  readonly #base: string

  /** @param base the real address of a server whose issuer is another host */
  constructor(base: string) {
    this.#base = base
  }

  async request(url: string, init: RequestInit = {}): Promise<Page> {
    const target = new URL(url, this.#base)
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { ...(cookie !== '' && { cookie }), ...(init.headers as Form) }
    const response = await fetch(new URL(target.pathname + target.search, this.#base), {
      ...init,
      headers,
      redirect: 'manual',
    })
    for (const line of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';', 1)[0] as string).split('=')
      if (/max-age=0/i.test(line)) this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return new Page(this, response, await response.text())
  }

  /** The full name of a cookie by its short one, `session`. Every cookie's name ends in the issuer's tag. */
  cookieName(short: string): string {
    const [name = ''] = this.cookies.keys()
    return name.replace(/tollgate-[a-z]+-/, `tollgate-${short}-`)
  }

  /** Whether the browser has a session cookie. */
  get hasSession(): boolean {
    return this.cookies.has(this.cookieName('session'))
  }

  /** Opens the authorization endpoint, as an app would send its user there. */
  authorize(issuer: string, params: Form): Promise<Page> {
    return this.request(`${issuer}/authorization?${new URLSearchParams(params).toString()}`)
  }
}

/** A response, and what a user can do with it. */
export class Page {
  constructor(
    readonly agent: UserAgent,
    readonly response: Response,
    readonly text: string,
  ) {}

  get status(): number {
    return this.response.status
  }

  get location(): string | null {
    return this.response.headers.get('location')
  }

  /** The parameters of a redirect. */
  get params(): URLSearchParams {
    if (this.location === null) throw new Error(`no redirect but ${this.status}: ${this.text.slice(0, 1_000)}`)
    return new URL(this.location).searchParams
  }

  get title(): string | undefined {
    return /<h1>(.*?)<\/h1>/.exec(this.text)?.[1]?.replace(/<\/?bdi>/g, '')
  }

  get notice(): string | undefined {
    return /role="alert">(.*?)<\/p>/.exec(this.text)?.[1]
  }

  /** The fields of the form, as a browser would send them. */
  get fields(): Record<string, string> {
    const inputs = this.text.matchAll(/<input[^>]*? name="(\w+)"(?:[^>]*? value="([^"]*)")?/g)
    return Object.fromEntries([...inputs].map(([, name = '', value = '']) => [name, unescaped(value)]))
  }

  /** Fills in the form and sends it. */
  submit(fields: Form, headers: Form = {}): Promise<Page> {
    const action = /<form method="post" action="([^"]*)"/.exec(this.text)?.[1]
    if (action === undefined) throw new Error(`no form on this page: ${this.status} ${this.text.slice(0, 1_000)}`)
    const body = new URLSearchParams({ ...this.fields, ...fields })
    return this.agent.request(unescaped(action), { method: 'POST', body, headers })
  }

  logIn(username = 'ada', password = 'analytical engine'): Promise<Page> {
    return this.submit({ username, password, action: 'login' })
  }

  /** Continues to the app, through the terms and approval pages if they are shown. */
  async finish(): Promise<Page> {
    if (this.location !== null) return this
    const next = await this.accept()
    return next.location === null ? next.accept() : next
  }

  accept(): Promise<Page> {
    return this.submit({ action: 'accept' })
  }
}

/** An authorization request of the app `web`. */
export function request(more: Form = {}): Form {
  return {
    response_type: 'code',
    client_id: 'web',
    redirect_uri: 'https://client.test/cb',
    scope: 'openid',
    state: 'st-123',
    nonce: 'n1',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    ...more,
  }
}

/** A code of `web` for Ada, through login and terms, and the form to redeem it with. */
export async function codeForm(
  issuer: string,
  more: Form = {},
  agent = new UserAgent(issuer),
): Promise<Record<string, string>> {
  let page = await agent.authorize(issuer, request(more))
  if (page.location === null) page = await page.logIn()
  page = await page.finish()
  const code = page.params.get('code')
  if (code === null) throw new Error(`no code: ${page.location}`)
  const redirectUri = more.redirect_uri ?? 'https://client.test/cb'
  return { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: VERIFIER }
}

/** The tokens of `web` for Ada, through login and terms. */
export async function tokensFor(issuer: string, more: Form = {}, agent = new UserAgent(issuer)): Promise<Tokens> {
  return askToken(issuer, await codeForm(issuer, more, agent))
}

function unescaped(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}
