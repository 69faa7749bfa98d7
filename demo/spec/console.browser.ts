// The demo's console, as somebody uses it: signs in, calls, is refused, waits, is let in.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { type RunningDemo, startDemo } from './running'
import { assertIs, atMost, above, until } from '../../spec/support/until'
import { DESK, faultsOf, launch, looksWell } from '../../spec/browser/looks'

describe('the console in a browser', () => {
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let faults: string[]
  let running: RunningDemo

  before(async () => (browser = await launch()))
  after(() => browser.close())
  beforeEach(async () => {
    await open(3_600_000)
  })
  afterEach(async () => {
    await close()
    assert.deepEqual(faults, [], 'no console or CSP error')
  })

  async function open(windowMs: number) {
    const searches = { limitMs: 2_700, windowMs }
    running = await startDemo({ limitMs: 3_000, windowMs, searches, searchMs: 600 })
    context = await browser.newContext({ viewport: DESK })
    context.setDefaultTimeout(60_000)
    page = await context.newPage()
    faults = faultsOf(page)
    await page.goto(running.origin)
  }
  async function close() {
    await context.close()
    await running.close()
  }
  const said = (text: string | RegExp) => page.locator('#said', { hasText: text }).waitFor()
  const call = (name: string) => page.locator('#calls button', { hasText: name }).click()
  const answer = (n = 0) => page.locator('#log > li').nth(n)
  const leftMs = async (window: string) =>
    Number(await page.locator(`#gauges [data-window="${window}"] [role=meter]`).getAttribute('aria-valuenow'))
  /** Watches from now on, in the page itself: what comes first, the window's gauge that falls, or an answer in the log? */
  async function gaugeOrAnswer(window: string): Promise<() => Promise<string>> {
    const meter = `#gauges [data-window="${window}"] [role=meter]`
    const watch = await page.evaluateHandle((selector) => {
      const first = new Promise<string>((resolve) => {
        const meter = document.querySelector(selector) as Element
        let before = Number(meter.getAttribute('aria-valuenow'))
        const gauge = new MutationObserver(() => {
          const left = Number(meter.getAttribute('aria-valuenow'))
          if (left < before) resolve('gauge')
          before = left // more, where the window has ended
        })
        gauge.observe(meter, { attributeFilter: ['aria-valuenow'] })
        new MutationObserver(() => resolve('answer')).observe(document.querySelector('#log') as Element, {
          childList: true,
        })
      })
      return { first }
    }, meter)
    return () => watch.evaluate(({ first }) => first)
  }
  async function signIn() {
    await page.click('#sign-in')
    await page.fill('#username', 'ada')
    await page.fill('#password', 'analytical engine')
    await page.click('button[value=login]')
    await said('You are signed in.')
  }

  it('signs in, shows the decoded tokens, and keeps no code in the address', async () => {
    await looksWell(page, 'console-empty')
    await signIn()
    assert.equal(page.url(), `${running.origin}/`)
    assert.equal(await page.locator('#who').innerText(), 'Signed in: Ada')
    const [access, id] = [page.locator('#decoded details').nth(0), page.locator('#decoded details').nth(1)]
    for (const token of [access, id]) {
      assert.equal(await token.getAttribute('open'), null, 'closed until asked for')
      await token.locator('summary').click()
    }
    assert.match(await access.innerText(), /access_token[^]*"client_id": "console"[^]*"alg": "RS256"/)
    assert.match(await id.innerText(), /id_token[^]*"family_name": "Lovelace"/)
    await page.reload()
    assert.equal(await page.locator('#who').innerText(), 'Signed in: Ada', 'the tab keeps its session')
    await call('Current user')
    await said(/users\/current: 200 OK, \d+ ms/)
    await page.click('#sign-out')
    await said('the token opens nothing more')
    await call('Current user')
    await said('users/current: 401 Unauthorized')
  })

  it('explains itself, and plays its story: searches, queue, refusal, wait, let in', async () => {
    await close()
    await open(6_000)
    assert.match(
      await page.locator('#story p').innerText(),
      /^Each user may use 3 s of processing time per 6 s, .*Searches have a limit of their own: 2.7 s per 6 s/,
    )
    assert.match(await page.locator('#gauges').innerText(), /3\.0 s left\s+0\.0 of 3 s used in 6 s/)
    await looksWell(page, 'console-opens')
    const steps = await page.evaluateHandle(() => {
      const seen: string[] = []
      new MutationObserver(() => {
        const now = document.querySelector('#steps [aria-current]')?.getAttribute('data-step')
        if (now && now !== seen.at(-1)) seen.push(now)
      }).observe(document.querySelector('#steps') as Element, { subtree: true, attributeFilter: ['aria-current'] })
      return seen
    })
    await page.click('#play')
    await page.locator('#steps [aria-current]', { hasText: /^Wait [1-6] s$/ }).waitFor()
    await page.locator('#steps [aria-current]', { hasText: '200 OK again' }).waitFor()
    assert.match((await steps.jsonValue()).join(), /^search,burst,refusal,(wait,)+let-in$/)
    assert.match(await answer(0).locator('summary').innerText(), /200\s+\/platform\/tree\/search/)
    const refused = page.locator('#log > li', { has: page.locator('b', { hasText: '429' }) }).first()
    assert.match(String(await refused.locator('pre').textContent()), /\n\{"errors":\[\{"code":429,"message":/)
    assert.match(
      await page.locator('#log').innerText(),
      /200\s+\/platform\/tree\/search\S*\s+\d+ ms, \d\.\d s in the queue/,
    )
    await page.locator('#play', { hasText: 'Play it again' }).waitFor()
    await looksWell(page, 'console-story')
  })

  it('ends its story after 45 s, whether it waits for a window or for an answer', async () => {
    await close()
    await open(2_592_000_000)
    await page.clock.install()
    await page.reload()
    const ends = async () => {
      await page.clock.fastForward(45_000)
      await said(/^The story ends after 45 s/)
      await page.locator('#play:enabled', { hasText: 'Play it again' }).waitFor()
      assert.equal(await page.locator('#steps [aria-current], #under-way > *').count(), 0)
    }
    await page.click('#play')
    await page.locator('#steps [aria-current]', { hasText: /^Wait \d+ s$/ }).waitFor()
    await ends()
    await page.route('**/platform/tree/search*', () => undefined) // which is never answered
    await page.click('#play')
    await page.locator('#under-way li').nth(2).waitFor()
    await ends()
  })

  it('lets a visitor see places, and nobody else', async () => {
    await page.click('#visit')
    await said('unauthenticated session')
    await call('Places')
    await said('places: 200 OK')
    await call('A person')
    await said('403 Forbidden')
    assert.match(
      await answer(0).locator('pre').textContent().then(String),
      /www-authenticate: Bearer .*insufficient_scope/,
    )
  })

  it('forces the throttle, and shows the 429 as it came and how long it lasts', async () => {
    await signIn()
    await call('Current user')
    await said('200 OK')
    assert.equal(await page.inputValue('#force-ms'), '3001')
    await page.focus('#force-ms')
    await page.keyboard.press('Enter')
    await said('throttled: 200 OK')
    await call('A person')
    await said(/^429 Too Many Requests: no time left for \d+ s. It will be tried again then.$/)
    const raw = String(await answer().locator('pre').textContent())
    assert.match(
      raw,
      /^HTTP\/1.1 429 Too Many Requests\n[^]*retry-after: \d+\n[^]*\{"errors":\[\{"code":429,"message":/,
    )
    assert.match(await answer().locator('.retry').innerText(), /Again in \d+ s/)
    assert.equal(await leftMs('default'), 0)
    const own = answer().locator('[data-window=default]')
    assert.match(await own.innerText(), /default\s+0\.0 s left\s+3\.\d of 3 s used in 3600 s\s+window ends in \d+ s/)
    await call('Search')
    await answer().locator('summary', { hasText: 'search' }).waitFor()
    assert.match(await page.locator('#said').innerText(), /search: 200 OK/)
    assert.equal(await page.locator('#log details[open]').count(), 0, 'older answers fold')
    await answer(1).locator('summary').click()
    await looksWell(page, 'console-refused')
    await page.click('.retry button')
    await said('It is not tried again.')
    await page.uncheck('#retry')
    await call('Dates')
    await said(/: no time left for \d+ s\.$/)
    assert.equal(await page.locator('.retry').count(), 0)
    await page.check('#service-dialect')
    await call('Places')
    await said(/^429 /)
    await answer()
      .locator('pre', { hasText: '<errors xmlns="http://familysearch.org/v1/"><error><code>429</code>' })
      .waitFor()
    await page.uncheck('#service-dialect')
    const height = () => page.evaluate('document.querySelector("#answers").offsetHeight')
    const areAnswered = async () => (await page.locator('#under-way > *').count()) === 0
    for (let n = 0; n < 16; n++) await call('Status')
    await until(areAnswered)
    assert.equal(await page.locator('#log > li').count(), 20)
    const before = await height()
    for (let n = 0; n < 12; n++) await call('Status')
    await until(areAnswered)
    assert.equal(await height(), before, 'the page does not grow with every call')
  })

  it('drains while a request runs, each window by itself', async () => {
    await signIn()
    const window = '/platform/tree/search'
    let searches = 0
    let before = NaN
    // A window may end while a search runs and take a part of its time along, but the next one has all of it.
    do {
      await call('Search')
      await answer(searches++).waitFor()
      before = await leftMs(window)
    } while (before > 2_100 && searches < 3)
    assertIs(before, atMost(2_100), `${before} ms left of 2,700 after a search of 600 ms`)
    assertIs(before, above(700), `${before} ms left of 2,700 after a search of 600 ms`)
    const comesFirst = await gaugeOrAnswer(window)
    await call('Search')
    assert.equal(await comesFirst(), 'gauge')
    await answer(searches).waitFor()
    await call('Current user')
    await page.locator('#gauges [data-window=default]').waitFor()
    assertIs(await leftMs('default'), above(2_500), 'the search did not cost the other window')
  })

  it('shows what a request cost, and where a window ended meanwhile the sum of the new one', async () => {
    await page.click('#visit')
    await said('unauthenticated session')
    const answered = async (costMs: number, usedMs: number) => {
      const headers = { 'X-Processing-Time': String(costMs), 'X-Throttle-Millis-Used': String(usedMs) }
      await page.unroute('**/platform/dates*')
      await page.route('**/platform/dates*', (route) => route.fulfill({ status: 200, headers, body: '{}' }))
      await call('Dates')
      await said(`dates: 200 OK, ${costMs} ms`)
      return answer(0).locator('summary .cost').innerText()
    }
    assert.equal(await answered(2_003, 506), '2003 ms, over the end of a window: 506 ms used in the new one')
    assert.equal(
      await page.locator('#said').innerText(),
      `/platform/dates: 200 OK, ${await answer(0).locator('summary .cost').innerText()}`,
    )
    assert.equal(await answered(2_004, 2_001), '2004 ms', 'the check of the token is measured and not charged')
    assert.equal(await answered(1_400, 3_404), '1400 ms', 'beside earlier requests')
  })

  it('shows that a request waits, for as long as it does', async () => {
    const waiting = page.locator('#under-way li', { hasText: '/platform/dates' })
    let answer = () => {}
    const isAnswered = new Promise<void>((resolve) => (answer = resolve))
    await page.route('**/platform/dates*', async (route) => {
      await isAnswered
      await route.continue()
    })
    await page.click('#visit')
    await said('unauthenticated session')
    await call('Dates')
    await waiting.filter({ hasText: /waiting 0\.[3-9] s|waiting [1-9]/ }).waitFor()
    answer()
    await said('dates: 200 OK')
    assert.equal(await waiting.count(), 0)
  })

  it('a sign-in that did not begin here is refused', async () => {
    await page.goto(`${running.origin}/?state=theirs&code=theirs`)
    await said('did not begin here')
    assert.equal(page.url(), `${running.origin}/`)
    assert.equal(await page.locator('#who').innerText(), 'Nobody is signed in.')
  })

  it('can be used by keyboard alone, and shows where the focus is', async () => {
    for (let i = 0; i < 12; i++) {
      await page.keyboard.press('Tab')
      const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
      assert.equal(outline, 'solid')
      if (await page.evaluate(`document.activeElement.textContent.startsWith('Status')`)) break
    }
    await page.keyboard.press('Enter')
    await said('status: 200 OK')
  })
})
