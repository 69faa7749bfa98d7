import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { post } from '../../spec/oauth/support'
import { UserAgent } from '../../spec/oauth/user-agent'
import { startDemo } from './running'
import { assertIs, atMost } from '../../spec/support/until'

const session = (agent: UserAgent, token: string) => (path: string) =>
  agent.request(`/platform/${path}`, { headers: { authorization: `Bearer ${token}` } })

describe('the demo as a whole', () => {
  it('login, terms, code, token, id_token, API, throttled: as somebody meets it who opens /login', async (t) => {
    const { origin, close } = await startDemo({ dialect: 'familysearch', limitMs: 1_000, windowMs: 86_400_000 })
    t.after(close)
    const agent = new UserAgent(origin)
    const begun = await agent.request('/login')
    const login = await agent.request(begun.location ?? '')
    assert.equal(login.title, 'Sign in')
    const wrong = await login.logIn('ada', 'difference engine')
    assert.match(wrong.notice ?? '', /./)
    const terms = await wrong.logIn()
    assert.equal(terms.location, null, 'the terms of access come first')
    const back = await terms.accept()
    const end = await agent.request(back.location ?? '')
    assert.deepEqual([end.status, end.title], [200, 'You are signed in'], end.text)
    assert.match(end.response.headers.get('content-type') ?? '', /^text\/html/)
    assert.equal(end.response.headers.get('cache-control'), 'no-store')
    assert.match(end.text, /"token_type": "Bearer"/)
    assert.match(end.text, /"given_name": "Ada"/)
    const [, token = ''] = /"access_token": "([\w.-]+)"/.exec(end.text) ?? []
    const get = session(agent, token)
    assert.match((await get('users/current')).text, /KWC6-X7D/)
    assert.equal((await get('throttled?processingTime=1001')).status, 200)
    const refused = await get('users/current')
    assert.equal(refused.status, 429)
    assert.match(refused.text, /<errors xmlns=/)
    assert.match(refused.response.headers.get('retry-after') ?? '', /^\d+$/)

    // Who has signed in is signed in, for another app too; its session pays from the same budget.
    const again = await agent.request('/login')
    const straight = await agent.request(again.location ?? '')
    assert.ok(straight.params.has('code'), 'no page in between')
    const second = await agent.request(straight.location ?? '')
    const [, other = ''] = /"access_token": "([\w.-]+)"/.exec(second.text) ?? []
    assert.notEqual(other, token)
    assert.equal((await session(agent, other)('users/current')).status, 429)
  })

  it('a sign-in that another browser began is refused', async (t) => {
    const { origin, close } = await startDemo()
    t.after(close)
    const theirs = new UserAgent(origin)
    const login = await theirs.request((await theirs.request('/login')).location ?? '')
    const back = await (await login.logIn()).finish()
    for (const at of [back.location ?? '', '/callback', '/callback?state[]=1', `/callback?state=${'0'.repeat(32)}`]) {
      const page = await new UserAgent(origin).request(at)
      assert.deepEqual([page.status, page.title], [400, 'You are not signed in'], at)
    }
    assert.equal((await theirs.request(back.location ?? '')).status, 200)
  })

  it('shows an error of the authorization server as text, whatever markup it is', async (t) => {
    const { origin, close } = await startDemo()
    t.after(close)
    const agent = new UserAgent(origin)
    const { params } = await agent.request('/login')
    const sent = new URLSearchParams({ state: params.get('state') ?? '', error: '<b>"no"</b> &amp;' })
    const page = await agent.request(`/callback?${sent.toString()}`)
    assert.equal(page.status, 400)
    assert.match(page.text, /&lt;b>"no"&lt;\/b> &amp;amp;/)
    assert.doesNotMatch(page.text, /<b>/)
  })

  it('has an icon for the browsers that ask for /favicon.ico', async (t) => {
    const { origin, close } = await startDemo()
    t.after(close)
    const { status, headers, text } = await fetch(`${origin}/favicon.ico`).then(async (answer) => ({
      status: answer.status,
      headers: answer.headers,
      text: await answer.text(),
    }))
    assert.deepEqual([status, headers.get('content-type')], [200, 'image/svg+xml; charset=utf-8'])
    assert.match(text, /^<svg /)
  })

  it('the token endpoint has a budget for each app and address, and says what an answer cost', async (t) => {
    const { issuer, close } = await startDemo()
    t.after(close)
    const ask = async (form: Record<string, string>, headers = {}) => {
      const answer = await post(`${issuer}/token`, form, headers)
      assert.equal(answer.status, 200)
      return ['x-throttle-millis-used', 'x-processing-time'].map((field) => Number(answer.headers.get(field)))
    }
    const form = { grant_type: 'unauthenticated_session', ip_address: '127.0.0.1' }
    const pays = async (own: () => Promise<number[]>) => {
      const [used = NaN, cost = NaN] = await own()
      assertIs(
        used,
        atMost(cost + 1),
        `${used} ms used, of which ${cost} ms by itself: nobody else pays from this budget`,
      )
    }
    await pays(() => ask({ ...form, client_id: 'visitor-app' }))
    let sum = 0
    while (sum < 20) sum = (await ask({ ...form, client_id: 'visitor-app' }))[0] ?? NaN // its budget drains
    await pays(() => ask({ ...form, client_id: 'family-app' }))
    const credentials = Buffer.from('nightly-import:nightly-import-of-the-demo').toString('base64')
    await pays(() =>
      ask({ grant_type: 'client_credentials', scope: 'tree.read' }, { authorization: `Basic ${credentials}` }),
    )
  })
})
