import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { userDirectory } from '../../lib/oauth'
import { hashSlotCount } from '../../lib/oauth/directories/hash-slots'
import { assertIs, below, above } from '../support/until'
import { AS_WEB, post, serverOfSuite } from './support'
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
