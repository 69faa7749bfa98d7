import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type ClosableOAuthStore, redisOAuthStore } from '../../lib/oauth'
import { manualClock } from '../../lib/testing'
import { answering } from '../support/answering'
import { databaseOfSuite } from '../support/redis'
import { serverOfSuite, startServer } from './support'
import { UserAgent, request } from './user-agent'

describe('a known device: a browser in which its user has signed in before', () => {
  const clock = manualClock()
  const database = databaseOfSuite()
  let store: ClosableOAuthStore
  const running = serverOfSuite(async () => {
    store = redisOAuthStore(database.url)
    await answering(store)
    return { store, clock, loginLimits: { perAccount: 3, perAddress: 8 } }
  })
  after(() => store.close())

  /** A browser that keeps of an earlier login only what outlives the browser's session. */
  const reopened = (agent: UserAgent) => {
    const name = agent.cookieName('device')
    const next = new UserAgent(running.issuer)
    next.cookies.set(name, agent.cookies.get(name) ?? '')
    return next
  }
  const page = (agent = new UserAgent(running.issuer)) => agent.authorize(running.issuer, request())
  const guess = async (times: number, username = 'ada', agent = new UserAgent(running.issuer)) => {
    let last = 0
    for (let i = 0; i < times; i++) last = (await (await page(agent)).logIn(username, `guess ${i}`)).status
    return last
  }

  it('keeps login attempts of its own when strangers have locked the account and its address', async () => {
    const first = await (await page()).logIn()
    const cookie = first.response.headers.getSetCookie().find((line) => line.startsWith('tollgate-device-')) ?? ''
    assert.match(cookie, /; Path=\/; HttpOnly; SameSite=Lax; Max-Age=34560000$/)

    assert.equal(await guess(4), 429)
    assert.equal((await (await page()).logIn()).status, 429, 'the account is locked for a device not known')
    const second = await (await page(reopened(first.agent))).logIn()
    assert.notEqual((await second.finish()).params.get('code'), null)
    for (const name of ['somebody', 'anybody']) await guess(3, name)
    assert.equal((await (await page()).logIn('bob', 'builder')).status, 429, 'the address is locked')
    const third = await (await page(reopened(second.agent))).logIn()
    assert.notEqual((await third.finish()).params.get('code'), null)

    const thief = reopened(third.agent)
    assert.equal(await guess(3, 'ada', thief), 403, 'the budget of a device')
    assert.equal(await guess(1, 'ada', thief), 429, 'is spent, too')
    assert.equal((await (await page(reopened(third.agent))).logIn()).status, 429)
  })

  it('is known for its own user only, by a cookie that cannot be forged', async () => {
    const own = await startServer({ clock, loginLimits: { perAccount: 1, perAddress: 100 } })
    const first = await (await new UserAgent(own.issuer).authorize(own.issuer, request())).logIn()
    const name = first.agent.cookieName('device')
    const agent = (cookie: string | undefined) => {
      const one = new UserAgent(own.issuer)
      if (cookie !== undefined) one.cookies.set(name, cookie)
      return one
    }
    const login = async (cookie: string | undefined, username: string, password: string) =>
      (await agent(cookie).authorize(own.issuer, request())).logIn(username, password)
    const device = first.agent.cookies.get(name) ?? ''
    for (const username of ['ada', 'bob']) await login(undefined, username, 'a guess')
    assert.equal((await login(device, ' ADA ', 'analytical engine')).response.status, 200, 'as the name is compared')
    assert.equal((await login(device, 'bob', 'builder')).status, 429, 'it is Ada’s')
    const forged = [
      `${'A'.repeat(16)}${device.slice(16)}`,
      `${device.slice(0, 16)}${'A'.repeat(27)}`,
      device.slice(0, 16),
      'A'.repeat(43),
      '',
    ]
    for (const cookie of forged) assert.equal((await login(cookie, 'ada', 'analytical engine')).status, 429, cookie)
  })
})
