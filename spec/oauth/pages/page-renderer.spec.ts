import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import type { Client } from '../../../lib/oauth'
import { type RunningServer, startServer } from '../support'
import { type Page, UserAgent, request } from '../user-agent'

const URI = 'https://app.test/cb'

/** A server whose directory has one app, of whatever name and URIs: the app's database need not check them. */
async function started(t: TestContext, app: Partial<Client>): Promise<RunningServer> {
  const client: Client = { clientId: 'web', name: 'App', realm: '/w', redirectUris: [URI], approval: 'ask', ...app }
  const running = await startServer({ clients: { findClient: () => Promise.resolve(client) } })
  t.after(() => running.close())
  return running
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
  it('is text, whatever it means to a template or to String.replace()', async (t) => {
    for (const name of ['$&', "$1 $$ $` $'", '$<app> {{csrf}} {host} {app}', '</bdi><script>x</script>', '&amp;']) {
      const pages = await pagesOf(await started(t, { name }))
      const escaped = name.replace(/[&<>"']/g, (one) => `&${entity(one)};`)
      for (const page of pages) assert.ok(page.text.includes(`<bdi>${escaped}</bdi>`), `${name}: ${page.text}`)
      assert.equal(pages[3]?.fields.state, 'st-123')
    }
  })

  it('turns no text around it: it is isolated, and its own marks of direction are dropped', async (t) => {
    for (const [name, shown] of [
      ['תקליט (bank.test)', 'תקליט (bank.test)'],
      ['\u202eknab\u202c', 'knab'],
      ['Bank\u2069\u2067', 'Bank'],
      ['\u2066بنك', 'بنك'],
    ] as const) {
      for (const page of await pagesOf(await started(t, { name }))) {
        assert.ok(page.text.includes(`<bdi>${shown}</bdi>`), page.text)
        const marks = (/<body>[^]*/.exec(page.text)?.[0] ?? '').match(/[\u202a-\u202e\u2066-\u2069]/g)
        assert.equal(marks, null)
      }
    }
  })

  it('stands in <title> without elements', async (t) => {
    const [, , approval] = await pagesOf(await started(t, { name: 'בנק' }))
    assert.match(approval?.text ?? '', /<title>Allow \u2068בנק\u2069\? · /)
  })
})

describe('a redirect URI on the pages', () => {
  it('with a host that would end a source or a directive adds neither to the policy', async (t) => {
    const usual = policyOf((await pagesOf(await started(t, {})))[0] as Page)
    for (const uri of ['https://[::1]/cb', 'com.example.app:;script-src/*,x']) {
      const running = await started(t, { redirectUris: [uri] })
      const login = await new UserAgent(running.issuer).authorize(running.issuer, request({ redirect_uri: uri }))
      assert.equal(login.status, 200, uri)
      const source = `'self' ${new URL(uri).protocol}`
      assert.equal(policyOf(login), usual.replace("'self' https://app.test", source), uri)
    }
    for (const host of ["a;script-src'unsafe-inline'.test", 'a,b.test', "a'b.test"]) {
      const uri = `https://${host}/cb`
      const running = await started(t, { redirectUris: [uri] })
      const login = await new UserAgent(running.issuer).authorize(running.issuer, request({ redirect_uri: uri }))
      assert.equal(login.status, 400, uri)
    }
  })
})

function entity(character: string): string {
  return { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' }[character] ?? ''
}
