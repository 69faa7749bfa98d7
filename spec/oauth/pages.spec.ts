import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type AuthorizationServerOptions, type Client, type OAuthLoginMessage, type User } from '../../lib/oauth'
import { heard } from '../support/heard'
import { type RunningServer, json, postJson, startServer } from './support'
import { type Page, UserAgent, request } from './user-agent'
import { assertIs, below } from '../support/until'

const URI = 'https://app.test/cb'
const ada = { id: 'KWC6-X7D', username: 'ada' }
const answering = (authenticate: (name: string, password: string) => unknown) => ({
  authenticate: (name: string, password: string) => Promise.resolve(authenticate(name, password)) as Promise<User>,
  findUser: () => Promise.resolve(ada),
})

async function page(options: Partial<AuthorizationServerOptions>) {
  const running = await startServer(options)
  return new UserAgent(running.issuer).authorize(running.issuer, request())
}

describe('authenticate() that refuses a user', () => {
  it('is shown with its reason and its link, escaped', async () => {
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
      const login = await page({ users: answering(() => ({ refused, ...(link && { link }) })) })
      const answer = await login.logIn()
      assert.equal(answer.status, 403)
      assert.ok(answer.text.includes('Please &lt;b&gt;confirm&lt;/b&gt; your e-mail address &amp; wait {app}'))
      assert.equal(answer.text.includes('role="alert"'), true)
      if (shown) assert.ok(answer.text.includes(shown), answer.text)
      assert.match(answer.text, /name="username" value="ada"/)
    }
  })

  it('with a link that runs a script is a failure; an error with a code of a refusal is shown', async () => {
    for (const href of ['javascript:alert(1)', ' java\nscript:alert(1)', 'data:text/html,x', 'vbscript:x', 7]) {
      const failed: unknown[] = []
      const users = answering(() => ({ refused: 'No', link: { text: 'x', href } }))
      const answer = await (await page({ users, onError: (err) => failed.push(err) })).logIn()
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
      const answer = await (await page({ users, onError: () => undefined })).logIn()
      assert.equal(answer.status, status, code)
      assert.equal(answer.text.includes('Please confirm first'), status === 403)
    }
  })

  it('counts as an attempt, and is told as refused', async () => {
    const told = heard<OAuthLoginMessage>({ after }, 'oauth-login')
    const users = answering(() => ({ refused: 'No' }))
    const login = await page({ users, loginLimits: { perAccount: 2 } })
    for (let i = 0; i < 3; i++) await login.logIn()
    assert.deepEqual(
      told.map(({ outcome }) => outcome),
      ['refused', 'refused', 'locked'],
    )
  })
})

describe('links on the login page', () => {
  it('stand below the form, escaped; the policy takes none more', async () => {
    const links = [
      { text: 'Forgot <password>?', href: '/reset?a=1&b=2' },
      { text: 'Create an account', href: 'https://app.test/new' },
    ]
    const { text } = await page({ pages: { links } })
    assertIs(text.indexOf('</form>'), below(text.indexOf('<a href="/reset?a=1&amp;b=2">Forgot &lt;password&gt;?</a>')))
    assert.ok(text.includes('<a href="https://app.test/new">Create an account</a>'))
  })

  it('may stand in the note, and an app that calls itself a link stays text', async () => {
    const loginNote = '{app}: <a href="/reset?a=1&b=2">Reset it</a> <a href="javascript:alert(1)">no</a> <i>no</i>'
    const running = await startServer({ pages: { texts: { loginNote } }, registration: { accept: () => ({}) } })
    const metadata = { client_name: '<a href="https://evil.test">Help</a>', redirect_uris: ['https://evil.test/cb'] }
    const app = await json(await postJson(`${running.issuer}/register`, metadata))
    const asked = request({ client_id: app.client_id as string, redirect_uri: 'https://evil.test/cb' })
    const { text } = await new UserAgent(running.issuer).authorize(running.issuer, asked)
    assert.deepEqual(text.match(/<a [^>]*>/g), ['<a href="/reset?a=1&amp;b=2">'])
  })
})

describe('express-tollgate:oauth-login', () => {
  it('has account and network, the same hash for the same text, or plain where the app asks', async () => {
    const told = heard<OAuthLoginMessage>({ after }, 'oauth-login')
    for (const loginEvents of [undefined, 'plain'] as const) {
      const login = await page({ loginEvents })
      await login.logIn('Ada', 'wrong')
      await login.logIn('Ada', 'wrong')
      await login.logIn('bob', 'builder')
    }
    const [a, b, c, ...plain] = told
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
  })
})

describe('pages.terms as a function', () => {
  it('gets the languages of the request; a new version is shown; a mistake is a failure, never skipped', async () => {
    let version = '7'
    const terms = (locales: readonly string[]) => ({
      version,
      paragraphs: [locales.includes('de') ? 'Sei nett.' : 'Be kind.'],
    })
    const running = await startServer({ pages: { terms } })
    const agent = new UserAgent(running.issuer)
    const shown = await (await agent.authorize(running.issuer, request({ ui_locales: 'de-AT de' }))).logIn()
    assert.match(shown.text, /Sei nett\./)
    const again = await agent.authorize(running.issuer, request({ ui_locales: 'en' }))
    assert.match(again.text, /Be kind\./)
    assert.notEqual((await again.accept()).params.get('code'), null)
    assert.notEqual((await agent.authorize(running.issuer, request({ ui_locales: 'de' }))).params.get('code'), null)
    version = '8'
    assert.equal((await agent.authorize(running.issuer, request())).title, 'Terms of access')
    for (const broken of [
      () => undefined,
      () => ({ version: 1 }),
      () => {
        throw new Error('no file')
      },
    ]) {
      const login = await page({ pages: { terms: broken as never }, onError: () => undefined })
      assert.equal((await login.logIn()).status, 503)
    }
  })
})

/** A server whose directory has one app, of whatever name and URIs: the app's database need not check them. */
function started(app: Partial<Client>, options: Partial<AuthorizationServerOptions> = {}): Promise<RunningServer> {
  const client: Client = { clientId: 'web', name: 'App', realm: '/w', redirectUris: [URI], approval: 'ask', ...app }
  return startServer({ clients: { findClient: () => Promise.resolve(client) }, ...options })
}

/** Every page with the app's name, on the way to its code. */
async function pagesOf({ issuer }: RunningServer, more: Record<string, string> = {}): Promise<readonly Page[]> {
  const asked = request({ redirect_uri: URI, response_mode: 'form_post', ...more })
  const login = await new UserAgent(issuer).authorize(issuer, asked)
  const terms = await login.logIn()
  const approval = await terms.accept()
  return [login, terms, approval, await approval.accept()]
}

const policyOf = ({ response }: Page) => response.headers.get('content-security-policy') ?? ''

describe('an app’s name on the pages', () => {
  it('is text, whatever it means to a template or to String.replace()', async () => {
    for (const name of ['$&', "$1 $$ $` $'", '$<app> {{csrf}} {host} {app}', '</bdi><script>x</script>', '&amp;']) {
      const users = { ...answering(() => ada), findUser: () => Promise.resolve({ ...ada, username: '<b>u</b>' }) }
      const pages = await pagesOf(await started({ name }, { users }))
      assert.ok(pages.every(({ text }) => !text.includes('<b>')) && pages[2]?.text.includes('&lt;b&gt;u'))
      const escaped = name.replace(/[&<>"']/g, (one) => `&${entity(one)};`)
      for (const page of pages) assert.ok(page.text.includes(`<bdi>${escaped}</bdi>`), `${name}: ${page.text}`)
      assert.equal(pages[3]?.fields.state, 'st-123')
    }
  })

  it('turns no text around it: it is isolated, and its own marks of direction are dropped', async () => {
    for (const [name, shown] of [
      ['תקליט (bank.test)', 'תקליט (bank.test)'],
      ['\u202eknab\u202c', 'knab'],
      ['Bank\u2069\u2067', 'Bank'],
      ['\u2066بنك', 'بنك'],
    ] as const) {
      for (const page of await pagesOf(await started({ name }))) {
        assert.ok(page.text.includes(`<bdi>${shown}</bdi>`), page.text)
        const marks = (/<body>[^]*/.exec(page.text)?.[0] ?? '').match(/[\u202a-\u202e\u2066-\u2069]/g)
        assert.equal(marks, null)
      }
    }
  })

  it('stands in <title> without elements', async () => {
    const [, , approval] = await pagesOf(await started({ name: 'בנק' }))
    assert.match(approval?.text ?? '', /<title>Allow \u2068בנק\u2069\? · /)
  })
})

describe('a redirect URI on the pages', () => {
  it('with a host that would end a source or a directive adds neither to the policy', async () => {
    const usual = policyOf((await pagesOf(await started({})))[0] as Page)
    for (const uri of ['https://[::1]/cb', 'com.example.app:;script-src/*,x']) {
      const running = await started({ redirectUris: [uri] })
      const login = await new UserAgent(running.issuer).authorize(running.issuer, request({ redirect_uri: uri }))
      assert.equal(login.status, 200, uri)
      const source = `'self' ${new URL(uri).protocol}`
      assert.equal(policyOf(login), usual.replace("'self' https://app.test", source), uri)
    }
    for (const host of ["a;script-src'unsafe-inline'.test", 'a,b.test', "a'b.test"]) {
      const uri = `https://${host}/cb`
      const running = await started({ redirectUris: [uri] })
      const login = await new UserAgent(running.issuer).authorize(running.issuer, request({ redirect_uri: uri }))
      assert.equal(login.status, 400, uri)
    }
  })
})

function entity(character: string): string {
  return { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' }[character] ?? ''
}
