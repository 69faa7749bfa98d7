import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type TestContext, describe, it } from 'node:test'
import type { AuthorizationServerOptions, OAuthLoginMessage, User } from '../../lib/oauth'
import { AS_WEB, json, post, startServer } from './support'
import { UserAgent, codeForm, request } from './user-agent'

const ada = { id: 'KWC6-X7D', username: 'ada' }
const answering = (authenticate: (name: string, password: string) => unknown) => ({
  authenticate: (name: string, password: string) => Promise.resolve(authenticate(name, password)) as Promise<User>,
  findUser: () => Promise.resolve(ada),
})

async function page(t: TestContext, options: Partial<AuthorizationServerOptions>) {
  const running = await startServer(options)
  t.after(() => running.close())
  return new UserAgent(running.issuer).authorize(running.issuer, request())
}

describe('authenticate() that refuses a user', () => {
  it('is shown with its reason and its link, escaped', async (t) => {
    const refused = 'Please <b>confirm</b> your e-mail address & wait {app}'
    for (const [link, shown] of [
      [undefined, undefined],
      [
        { text: 'Send it <again>', href: '/confirm?a=1&b="2"' },
        '<a href="/confirm?a=1&amp;b=&quot;2&quot;">Send it &lt;again&gt;</a>',
      ],
      [{ text: 'Help', href: 'https://help.test/x' }, '<a href="https://help.test/x">Help</a>'],
      [{ text: 'Help', href: 'help' }, '<a href="help">Help</a>'],
    ] as const) {
      const login = await page(t, { users: answering(() => ({ refused, ...(link && { link }) })) })
      const answer = await login.logIn()
      assert.equal(answer.status, 403)
      assert.ok(answer.text.includes('Please &lt;b&gt;confirm&lt;/b&gt; your e-mail address &amp; wait {app}'))
      assert.equal(answer.text.includes('role="alert"'), true)
      if (shown) assert.ok(answer.text.includes(shown), answer.text)
      assert.match(answer.text, /name="username" value="ada"/)
    }
  })

  it('with a link that runs a script is a failure; an error with a code of a refusal is shown', async (t) => {
    for (const href of ['javascript:alert(1)', ' java\nscript:alert(1)', 'data:text/html,x', 'vbscript:x', 7]) {
      const failed: unknown[] = []
      const users = answering(() => ({ refused: 'No', link: { text: 'x', href } }))
      const answer = await (await page(t, { users, onError: (err) => failed.push(err) })).logIn()
      assert.equal(answer.status, 503)
      assert.match(String(failed[0]), /returned a link that is no http\(s\) address or path/)
    }
    for (const [code, status] of [
      ['not_verified', 403],
      ['blocked', 403],
      ['login_refused', 403],
      ['ECONNREFUSED', 503],
      [undefined, 503],
    ] as const) {
      const users = answering(() => {
        throw Object.assign(new Error('Please confirm first'), { code })
      })
      const answer = await (await page(t, { users, onError: () => undefined })).logIn()
      assert.equal(answer.status, status, code)
      assert.equal(answer.text.includes('Please confirm first'), status === 403)
    }
  })

  it('counts as an attempt, and is told as refused', async (t) => {
    const heard: OAuthLoginMessage[] = []
    const hear = (message: unknown) => heard.push(message as OAuthLoginMessage)
    subscribe('express-tollgate:oauth-login', hear)
    t.after(() => unsubscribe('express-tollgate:oauth-login', hear))
    const users = answering(() => ({ refused: 'No' }))
    const login = await page(t, { users, loginLimits: { perAccount: 2 } })
    for (let i = 0; i < 3; i++) await login.logIn()
    assert.deepEqual(
      heard.map(({ outcome }) => outcome),
      ['refused', 'refused', 'locked'],
    )
  })
})

describe('links on the login page', () => {
  it('stand below the form, escaped; the policy takes none more', async (t) => {
    const links = [
      { text: 'Forgot <password>?', href: '/reset?a=1&b=2' },
      { text: 'Create an account', href: 'https://app.test/new' },
    ]
    const { text } = await page(t, { pages: { links } })
    assert.ok(text.indexOf('</form>') < text.indexOf('<a href="/reset?a=1&amp;b=2">Forgot &lt;password&gt;?</a>'))
    assert.ok(text.includes('<a href="https://app.test/new">Create an account</a>'))
  })

  it('are http(s) or relative, or the factory throws', async () => {
    for (const links of [
      'x',
      [{}],
      [{ text: 'x' }],
      [{ href: '/x' }],
      [{ text: 'x', href: 'javascript:x' }],
      [{ text: 1, href: '/' }],
      [null],
    ]) {
      await assert.rejects(startServer({ pages: { links: links as never } }), /pages.links must be a list of/)
    }
  })

  it('may stand in the note, and an app that calls itself a link stays text', async (t) => {
    const loginNote = '{app}: <a href="/reset?a=1&b=2">Reset it</a> <a href="javascript:alert(1)">no</a> <i>no</i>'
    const running = await startServer({ pages: { texts: { loginNote } }, registration: { accept: () => ({}) } })
    t.after(() => running.close())
    const body = JSON.stringify({
      client_name: '<a href="https://evil.test">Help</a>',
      redirect_uris: ['https://evil.test/cb'],
    })
    const headers = { 'content-type': 'application/json' }
    const app = await json(await fetch(`${running.issuer}/register`, { method: 'POST', headers, body }))
    const asked = request({ client_id: app.client_id as string, redirect_uri: 'https://evil.test/cb' })
    const { text } = await new UserAgent(running.issuer).authorize(running.issuer, asked)
    assert.deepEqual(text.match(/<a [^>]*>/g), ['<a href="/reset?a=1&amp;b=2">'])
  })
})

describe('express-tollgate:oauth-login', () => {
  it('has account and network, the same hash for the same text, or plain where the app asks', async (t) => {
    const heard: OAuthLoginMessage[] = []
    const hear = (message: unknown) => heard.push(message as OAuthLoginMessage)
    subscribe('express-tollgate:oauth-login', hear)
    t.after(() => unsubscribe('express-tollgate:oauth-login', hear))
    for (const loginEvents of [undefined, 'plain'] as const) {
      const login = await page(t, { loginEvents })
      await login.logIn('Ada', 'wrong')
      await login.logIn('Ada', 'wrong')
      await login.logIn('bob', 'builder')
    }
    const [a, b, c, ...plain] = heard
    assert.ok(a && b && c)
    assert.deepEqual([a.account === b.account, a.account === c.account, a.address === c.address], [true, false, true])
    assert.doesNotMatch(JSON.stringify([a, b, c]), /Ada|bob|127\.0\.0\.1/)
    assert.deepEqual(
      plain.map(({ account, address, outcome }) => [account, address, outcome]),
      [
        ['Ada', '127.0.0.1', 'failed'],
        ['Ada', '127.0.0.1', 'failed'],
        ['bob', '127.0.0.1', 'succeeded'],
      ],
    )
    await assert.rejects(startServer({ loginEvents: 'clear' as never }), /loginEvents must be 'hashed' or 'plain'/)
  })
})

describe('pages.terms as a function', () => {
  it('gets the languages of the request, and what it returns by mistake is a failure, never skipped', async (t) => {
    const terms = (locales: readonly string[]) => ({
      version: '7',
      paragraphs: [locales.includes('de') ? 'Sei nett.' : 'Be kind.'],
    })
    const running = await startServer({ pages: { terms } })
    t.after(() => running.close())
    const agent = new UserAgent(running.issuer)
    const shown = await (await agent.authorize(running.issuer, request({ ui_locales: 'de-AT de' }))).logIn()
    assert.match(shown.text, /Sei nett\./)
    const again = await agent.authorize(running.issuer, request({ ui_locales: 'en' }))
    assert.match(again.text, /Be kind\./)
    assert.notEqual((await again.accept()).params.get('code'), null)
    assert.notEqual((await agent.authorize(running.issuer, request({ ui_locales: 'de' }))).params.get('code'), null)
    for (const broken of [
      () => undefined,
      () => ({ version: 1 }),
      () => {
        throw new Error('no file')
      },
    ]) {
      const login = await page(t, { pages: { terms: broken as never }, onError: () => undefined })
      assert.equal((await login.logIn()).status, 503)
    }
  })
})

describe('sign-out with the id_token of an app', () => {
  it('ends its session and grants, also when the browser has lost or replaced the cookie', async (t) => {
    const running = await startServer()
    t.after(() => running.close())
    const { issuer } = running
    const tokensOf = async (agent: UserAgent) =>
      (await json(await post(`${issuer}/token`, await codeForm(issuer, {}, agent), AS_WEB))) as Record<string, string>
    const isActive = async ({ access_token = '' }: Record<string, string>) =>
      (await running.server.verify(access_token)) !== undefined
    const leave = (agent: UserAgent, { id_token = '' }: Record<string, string>) =>
      agent.request(
        `${issuer}/logout?${new URLSearchParams({ id_token_hint: id_token, post_logout_redirect_uri: 'https://client.test/bye' }).toString()}`,
      )

    const lost = await tokensOf(new UserAgent(issuer))
    assert.equal((await leave(new UserAgent(issuer), lost)).location, 'https://client.test/bye')
    assert.equal(await isActive(lost), false)

    const agent = new UserAgent(issuer)
    const ada = await tokensOf(agent)
    const login = await agent.authorize(issuer, request({ prompt: 'login' }))
    await (await login.logIn('bob', 'builder')).finish()
    const asked = await leave(agent, ada)
    assert.deepEqual([asked.title, await isActive(ada)], ['Sign out?', true], 'the session of another is asked about')
    assert.equal((await asked.submit({ action: 'logout' })).location, 'https://client.test/bye')
    assert.equal(await isActive(ada), false)

    const other = await tokensOf(new UserAgent(issuer))
    assert.equal((await leave(new UserAgent(issuer), { id_token: `${other.id_token}x` })).location, null)
    assert.ok(await isActive(other))
  })
})
