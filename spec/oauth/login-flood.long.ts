import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { DirectoryBusyError, userDirectory } from '../../lib/oauth'
import { hashSlotCount } from '../../lib/oauth/directories/hash-slots'
import { assertIs, atLeast, below, above, until } from '../support/until'
import { AS_WEB, post, serverOfSuite, startServer } from './support'
import { type Page, UserAgent, request } from './user-agent'

describe('a flood of 100 logins at once', () => {
  const running = serverOfSuite({
    users: userDirectory([{ id: 'KWC6-X7D', username: 'ada', password: 'analytical engine' }]), // the default cost
  })

  const token = async () => {
    const startedAt = performance.now()
    const response = await post(`${running.issuer}/token`, { grant_type: 'client_credentials' }, AS_WEB)
    assert.equal(response.status, 200)
    await response.arrayBuffer()
    return performance.now() - startedAt
  }
  const p95 = (times: number[]) => times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)] as number

  it('keeps no token waiting, and is refused at once beyond a bounded queue', async (t) => {
    for (let i = 0; i < 40; i++) await token() // the first ones are slower, whatever else runs
    const quiet: number[] = []
    for (let i = 0; i < 40; i++) quiet.push(await token())
    const pages: Page[] = []
    for (let i = 0; i < 100; i++) pages.push(await new UserAgent(running.issuer).authorize(running.issuer, request()))

    const order: number[] = []
    const guesses = pages.map(async (page, i) => {
      const answer = await page.logIn(`user-${i % 10}`, 'a wrong guess')
      order.push(answer.status)
      return answer
    })
    const tokens: number[] = []
    while (order.length < guesses.length) tokens.push(await token())
    const answers = await Promise.all(guesses)

    const refused = answers.filter(({ status }) => status === 503)
    const checked = answers.filter(({ status }) => status === 403)
    assert.equal(refused.length + checked.length, 100)
    assert.ok(checked.length >= 13 && refused.length >= 30, `${checked.length} checked, ${refused.length} refused`)
    for (const answer of refused) {
      assert.match(answer.response.headers.get('retry-after') ?? '', /^[1-9]\d?$/)
      assert.match(answer.notice ?? '', /Too many people/)
    }
    assertIs(order.lastIndexOf(503), below(order.lastIndexOf(403)), 'they did not wait for the queue to drain')
    assertIs(tokens.length, above(checked.length), `${tokens.length} tokens beside ${checked.length} logins`)

    const [before, during] = [p95(quiet), p95(tokens)]
    t.diagnostic(
      `p95 of /token ${before.toFixed(1)} ms when quiet, ${during.toFixed(1)} ms during the flood (${tokens.length} tokens); ` +
        `${checked.length} logins checked, ${refused.length} refused`,
    )
  })
})

describe('a flood of logins that goes on', () => {
  it('lets users of other networks sign in, 25 of 25, from whatever networks it comes', async (t) => {
    const ada = { id: 'KWC6-X7D', username: 'ada', password: 'analytical engine' }
    const users = userDirectory([ada], { cost: 12 })
    const { issuer, app } = await startServer({
      users,
      pages: { terms: false },
      loginLimits: { perAddress: 10_000 },
    })
    app.set('trust proxy', 1)
    const from = async (address: string, name: string, password: string) => {
      const page = await new UserAgent(issuer).authorize(issuer, request())
      const fields = { username: name, password, action: 'login' }
      return (await page.submit(fields, { 'x-forwarded-for': address })).status
    }
    for (const network of [
      (n: number) => `198.51.100.${n % 30}`,
      (n: number) => `2001:db8:${(n % 65_536).toString(16)}::1`,
    ]) {
      let n = 0
      let isOver = false
      const seen = new Map<number, number>()
      const flood = Array.from({ length: 100 }, async () => {
        const page = await new UserAgent(issuer).authorize(issuer, request())
        while (!isOver) {
          const fields = { username: `user-${n}`, password: 'a wrong guess', action: 'login' }
          const { status } = await page.submit(fields, { 'x-forwarded-for': network(n++) })
          seen.set(status, (seen.get(status) ?? 0) + 1)
          if (status !== 403) await sleep(250)
        }
      })
      await until(() => seen.get(403) ?? 0, atLeast(100))
      const statuses: number[] = []
      for (let i = 0; i < 25; i++) statuses.push(await from(`203.0.113.${i}`, 'ada', 'analytical engine'))
      isOver = true
      await Promise.all(flood)
      assert.deepEqual(statuses, Array<number>(25).fill(303))
      t.diagnostic(`the flood: ${JSON.stringify(Object.fromEntries(seen))}`)
    }
  })
})

describe('a directory of the app that rejects with a DirectoryBusyError', () => {
  it('is answered 503 with its Retry-After, and the login does not count as failed', async () => {
    let isBusy = true
    const heard: unknown[] = []
    const users = {
      authenticate: () =>
        isBusy ? Promise.reject(new DirectoryBusyError(7)) : Promise.resolve({ id: 'KWC6-X7D', username: 'ada' }),
      findUser: () => Promise.resolve({ id: 'KWC6-X7D', username: 'ada' }),
    }
    const loginLimits = { perAccount: 3, perAddress: 3 }
    const running = await startServer({ users, loginLimits, onError: (err) => heard.push(err) })
    const page = await new UserAgent(running.issuer).authorize(running.issuer, request())
    for (let i = 0; i < 5; i++) {
      const answer = await page.logIn()
      assert.equal(answer.status, 503)
      assert.equal(answer.response.headers.get('retry-after'), '7')
    }
    isBusy = false
    assert.notEqual((await (await page.logIn()).finish()).params.get('code'), null)
    assert.deepEqual(heard, [], 'it is load, not a failure')
  })
})

describe('hashes at once', () => {
  it('take at most half of libuv’s threads, and leave one processor', () => {
    for (const [threads, processors, slots] of [
      [undefined, 8, 2],
      [undefined, 2, 1],
      ['16', 4, 3],
      ['16', 64, 8],
      ['1', 8, 1],
      ['none', 1, 1],
    ] as const)
      assert.equal(hashSlotCount(threads, processors), slots, `${threads} ${processors}`)
  })
})
