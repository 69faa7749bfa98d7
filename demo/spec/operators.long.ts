import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import { UserAgent } from '../../spec/oauth/user-agent'
import { startDemo } from './running'

const AT = '/admin/throttle'

/** Signs in as the dashboard's sign-in has it, and follows the browser's way back to where it ends. */
async function signIn(origin: string, username: string, password?: string) {
  const agent = new UserAgent(origin)
  const login = await agent.request((await agent.request(`${AT}/`)).location ?? '')
  const back = await (await login.logIn(username, password)).finish()
  return { agent, end: await agent.request(back.location ?? '') }
}

async function start(t: TestContext) {
  const running = await startDemo()
  t.after(running.close)
  return running
}

describe("the demo's dashboard", () => {
  it('lets ada in once she has signed in', async (t) => {
    const { origin } = await start(t)
    const { agent, end } = await signIn(origin, 'ada')
    assert.deepEqual([end.status, end.location], [302, `${AT}/`])
    const page = await agent.request(`${AT}/`)
    assert.deepEqual([page.status, page.title], [200, 'Throttle dashboard<span id="app"></span>'])
    assert.equal(page.response.headers.has('x-powered-by'), false)
  })

  it('lets in nobody else, nor a request that is no page', async (t) => {
    const { origin } = await start(t)
    const { agent, end } = await signIn(origin, 'grace', 'flow-matic')
    assert.deepEqual([end.status, end.title], [403, 'This page is for operators'])
    const [, signOut = ''] = /href="([^"]+)">Sign out</.exec(end.text) ?? []
    assert.match((await agent.request(signOut)).title ?? '', /sign(ed)? out/i)
    assert.match((await agent.request(`${AT}/`)).location ?? '', /\/authorization\?/)
    const stranger = new UserAgent(origin)
    assert.equal((await stranger.request(`${AT}/events`, { headers: { accept: 'text/event-stream' } })).status, 401)
    assert.equal((await stranger.request(`${AT}/reset`, { method: 'POST' })).status, 401)
    const theirs = await stranger.request(`${AT}/signed-in?code=theirs&state=theirs`)
    assert.deepEqual([theirs.status, theirs.title], [400, 'You are not signed in'])
  })
})
