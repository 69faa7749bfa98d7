// The dashboard, as an operator sees it: two processes' worth of traffic over one Redis, or this process alone.
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import express, { type Request } from 'express'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { budgetOf, redisStore, throttle, type Throttle } from '../../lib'
import { type ThrottleDashboard, throttleDashboard } from '../../lib/dashboard'
import { type Server, startRedis } from '../support/redis'
import { assertIs, atLeast, atMost, below, above, until } from '../support/until'
import { DESK, faultsOf, launch, looksWell } from './looks'

const PASSWORD = 'Basic ' + Buffer.from('operator:hush').toString('base64')
const LONG = '/organizations/:organization/reports/quarterly/:ms'
const HOSTILE = '<img src=x onerror="document.title=1">'

describe('the dashboard in a browser', () => {
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let faults: string[]
  let redis: Server
  let origin: string
  let close: () => Promise<void>

  before(async () => {
    redis = await startRedis()
    browser = await launch()
  })
  after(async () => {
    await browser.close()
    await redis.stop()
  })
  beforeEach(async () => {
    const url = `redis://127.0.0.1:${redis.port}`
    const throttled = throttle({
      ...{ limitMs: 2_000, windowMs: 2_592_000_000, store: redisStore(url) },
      routes: { [LONG]: { limitMs: 1_000 } },
      subject: (req: Request) => req.get('X-Who') ?? 'nobody',
    })
    const dashboard = throttleDashboard(throttled, {
      guard: (req, res, next) =>
        req.headers.authorization === PASSWORD
          ? next()
          : void res.status(401).set('WWW-Authenticate', 'Basic realm="operators"').end(),
      ...{ redis: url, label: (subject) => subject },
    })
    ;({ origin, close } = await listen(throttled, dashboard))
    context = await browser.newContext({
      ...{ viewport: DESK, httpCredentials: { username: 'operator', password: 'hush' } },
    })
    context.setDefaultTimeout(60_000)
    page = await context.newPage()
    faults = faultsOf(page)
  })
  afterEach(async () => {
    await context.close()
    await close()
    await redis.command('FLUSHALL')
    assert.deepEqual(faults, [], 'no console or CSP error')
  })

  const ask = async (path: string, who: string) => (await fetch(origin + path, { headers: { 'X-Who': who } })).status
  /** Where the n-th subject ends, in pixels from the page's top. */
  const bottomOf = async (n: number) => {
    const box = await page.locator('#subjects > tbody').nth(n).boundingBox()
    return (box?.y ?? Infinity) + (box?.height ?? 0)
  }
  const subject = (who: string) => page.locator('#subjects > tbody', { hasText: who })

  it('shows live who spends and who is refused, and what is on hold', async () => {
    await page.goto(`${origin}/admin/throttle`)
    await page.locator('#live', { hasText: 'Live' }).waitFor()
    await page.locator('#totals', { hasText: 'all processes' }).waitFor()
    await looksWell(page, 'dashboard-empty')
    const [grace, ada] = ['user:25:https://ident.example.org:grace', 'user:25:https://ident.example.org:ada']
    for (const [who, ms] of [[grace, 700], [HOSTILE, 300], [ada, 2_400]] as const) await ask(`/spend/${ms}`, who) // prettier-ignore
    for (let i = 0; i < 3; i++) assert.equal(await ask('/persons/LWB1-ADA', ada), 429)
    assert.equal(await ask('/persons/LWB1-ADA', grace), 200)
    await subject('grace').waitFor()
    assert.equal(await subject('grace').locator('.state').innerText(), 'ok')
    const slow = ask('/slow', grace)
    await subject('grace').locator('.running', { hasText: '1' }).waitFor()
    await until(() => page.locator('#refused').innerText(), '3')
    await subject(HOSTILE).waitFor()
    assert.equal(await page.title(), `${new URL(origin).host}: throttle dashboard`, 'a name is text')
    const height = (await subject('grace').boundingBox())?.height
    assert.equal(height, (await subject('ada').boundingBox())?.height, 'a long name takes one line')
    assert.match(await subject('ada').innerText(), /2\.[4-9] s of 2\.0 s/) // and what the request itself took
    assert.match(await subject('ada').locator('.state').innerText(), /^refused until (.*, )?\d\d:\d\d(:\d\d)?$/)
    const refusals = await page.locator('#refusals > li').allInnerTexts()
    assert.equal(refusals.length, 1)
    const words =
      /ada\s+3 requests\s+refused since .*\d\d until .*\d\d:\d\d(:\d\d)?\s+GET \/persons\/:id\s+3\s+limit used up, window default$/
    assert.match(String(refusals[0]), words)
    for (const tile of await page.locator('.tile').allInnerTexts()) assert.match(tile, /(this|all|each) process/)
    assert.equal(await page.locator('#count').innerText(), '3 of 3')
    assertIs(await bottomOf(2), atMost(844), 'three subjects above the fold of a phone')
    assert.match(await page.locator('#routes').innerText(), /GET \/spend\/:ms[^]*3 requests/)
    assert.equal(await page.locator('#trouble').isVisible(), false)
    await looksWell(page, 'dashboard-busy')
    assert.equal(await slow, 200)
  })

  it('keeps the bar of each window on a phone, whatever its name', async () => {
    for (const path of ['/spend/700', '/organizations/acme/reports/quarterly/700']) await ask(path, 'ada')
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${origin}/admin/throttle/`)
    await page.locator('#subjects .name', { hasText: LONG }).waitFor()
    const bars = await page.locator('#subjects .bar').all()
    assert.equal(bars.length, 2)
    for (const bar of bars) assertIs(Number((await bar.boundingBox())?.width), above(60))
  })

  it('resets one subject, after asking, and keeps the focus', async () => {
    for (const who of ['ada', 'grace']) await ask('/spend/2400', who)
    await page.goto(`${origin}/admin/throttle/`)
    await subject('ada').waitFor()
    page.once('dialog', (dialog) => void dialog.dismiss())
    await subject('ada').locator('button').click()
    assert.equal(await ask('/spend/0', 'ada'), 429, 'not without a yes')
    await page.locator('summary', { hasText: 'by its full name' }).click()
    await page.fill('#reset-name', 'ada')
    const asked: string[] = []
    page.on('dialog', (dialog) => {
      asked.push(dialog.message())
      void dialog.accept()
    })
    // On a machine short of time the store may miss its deadline. Then nothing is reset, and it says so.
    const said = page.locator('#said')
    await until(async () => {
      const [answer] = await Promise.all([page.waitForResponse(/\/reset$/), page.keyboard.press('Enter')])
      await said.filter({ hasText: answer.ok() ? 'The usage of ada was reset.' : 'does not answer' }).waitFor()
      return answer.ok()
    })
    assert.equal(asked[0], 'Reset the usage of ada, in every process?')
    assert.deepEqual([await ask('/spend/0', 'ada'), await ask('/spend/0', 'grace')], [200, 429])
    await page.keyboard.press('Tab')
    await page.click('#dismiss')
    assert.equal(await said.isVisible(), false)
  })

  it('keeps every row in its place while the pointer is over the table', async () => {
    for (const [who, ms] of [['ada', 900], ['grace', 500]] as const) await ask(`/spend/${ms}`, who) // prettier-ignore
    await page.goto(`${origin}/admin/throttle/`)
    await subject('grace').waitFor()
    const rows = async () => (await page.locator('#subjects .who').allInnerTexts()).map((text) => text.trim())
    assert.deepEqual(await rows(), ['ada', 'grace'])
    await subject('ada').hover()
    await ask('/spend/950', 'grace')
    await ask('/spend/1700', 'mary')
    await subject('mary').waitFor()
    await until(async () => parseFloat(await subject('grace').locator('.used').innerText()), atLeast(1.4)) // its own time, too
    assert.deepEqual(await rows(), ['ada', 'grace', 'mary'])
    assert.equal(await subject('mary').locator('.state').innerText(), 'near limit')
    await page.mouse.move(1, 1)
    await page.locator('#subjects > tbody:first-of-type', { hasText: 'mary' }).waitFor()
    assert.deepEqual(await rows(), ['mary', 'grace', 'ada'])
  })

  it('says by chart, slider and sentence what a limit would have meant', async () => {
    for (let i = 0; i < 10; i++) await ask(`/spend/${100 * (i + 1)}`, `user-${i}`)
    await ask('/spend/5000', 'ada')
    await page.goto(`${origin}/admin/throttle/`)
    const says = page.locator('#limit-says')
    // On a busy machine a report comes a moment later.
    await until(async () => {
      await page.reload()
      await says.waitFor()
      return /^At 2 s, 9.1 % of windows of users \(1 of 11\) would have had refusals in the last hour; p99 is [45]/.test(
        await says.innerText(),
      )
    })
    assert.equal(await page.locator('#limit-value').innerText(), '2 s, the present limit')
    await page.focus('#limit')
    for (let i = 0; i < 110; i++) await page.keyboard.press('ArrowLeft')
    assert.match(await says.innerText(), /^At \d+ ms, [3-9]\d % of windows of users \([3-9] of 11\)/)
    assert.doesNotMatch(String(await page.getAttribute('#limit', 'aria-valuetext')), /present/)
    await page.selectOption('#limit-hours', '24')
    await says.filter({ hasText: 'in the last day' }).waitFor()
    await looksWell(page, 'dashboard-limit')
  })

  it('finds and sorts, tells what a hold is, and shows the values of a chart by key and pointer', async () => {
    for (let i = 0; i < 30; i++) await ask(`/spend/${100 + i}`, `user-${i}`)
    await ask('/spend/900', 'ada')
    await page.goto(`${origin}/admin/throttle/`)
    await page.locator('#count', { hasText: '25 of 31' }).waitFor()
    assertIs(await bottomOf(9), atMost(768), 'ten subjects above the fold of a laptop')
    await page.click('#more')
    await page.locator('#count', { hasText: '31 of 31' }).waitFor()
    await page.fill('#find', 'USER-7')
    await page.locator('#count', { hasText: '1 of 1 found' }).waitFor()
    assert.match(await page.locator('#subjects').innerText(), /user-7/)
    await page.fill('#find', '')
    await page.selectOption('#sort', 'share')
    await page.locator('#subjects > tbody:first-of-type', { hasText: 'ada' }).waitFor()
    await page.focus('.tip')
    assert.match(await page.locator('#hold-tip').innerText(), /expected to take/)
    await page.keyboard.press('Escape')
    await page.locator('#hold-tip').waitFor({ state: 'hidden' })
    const plot = page.locator('#admitted-chart .plot')
    await plot.focus()
    await page.keyboard.press('Home')
    assert.match(String(await plot.getAttribute('aria-valuetext')), /^0 in 5 s at \d/)
    assert.match(await page.locator('#admitted-chart .value').innerText(), /^0 in 5 s · \d\d:\d\d:\d\d$/)
    assertIs(Number((await page.locator('#admitted-chart .axis').boundingBox())?.height), below(24), 'in one line')
    await plot.blur()
    // The chart moves on by a point now and then: the one that counts may slip past the pointer.
    const box = await plot.boundingBox()
    await until(async () => {
      for (let x = 1; box && x <= box.width; x += 2) {
        await page.mouse.move(box.x + x, box.y + 10)
        const [value] = (await page.locator('#admitted-chart .value').innerText()).split(' ')
        if (Number(value) > 0) return true
      }
      return false
    })
  })

  it('can be paused, and goes on', async () => {
    await page.goto(`${origin}/admin/throttle/`)
    await page.locator('#live', { hasText: 'Live' }).waitFor()
    await page.click('#pause')
    assert.equal(await page.getAttribute('#pause', 'aria-pressed'), 'true')
    await ask('/spend/300', 'ada')
    await page.click('#pause')
    await subject('ada').waitFor()
    assert.equal(await page.getAttribute('#pause', 'aria-pressed'), 'false')
  })

  it('keeps the focus on a subject that moves', async () => {
    for (const [who, ms] of [['ada', 900], ['grace', 500]] as const) await ask(`/spend/${ms}`, who) // prettier-ignore
    await page.goto(`${origin}/admin/throttle/`)
    await subject('grace').locator('button').focus()
    assert.equal(await ask('/spend/600', 'grace'), 200)
    await page.locator('#subjects > tbody:first-of-type', { hasText: 'grace' }).waitFor()
    const focused = 'document.activeElement.closest("tbody")?.innerText ?? "none"'
    assert.match(await page.evaluate(focused), /^grace/)
  })

  it('says when the store does not answer', async () => {
    await ask('/spend/2300', 'ada')
    await until(() => ask('/spend/1', 'ada'), 429)
    await page.goto(`${origin}/admin/throttle/`)
    await subject('ada').waitFor()
    await page.locator('#processes', { hasText: /^\d process(es)? lives?$/ }).waitFor()
    redis.signal('SIGSTOP')
    try {
      await page.locator('#store', { hasText: 'no answer' }).waitFor()
      await page.locator('#store-note', { hasText: /since .*\d\d:\d\d:\d\d/ }).waitFor()
      await page.locator('#trouble', { hasText: 'does not answer' }).waitFor()
      await subject('ada').waitFor()
      await page.locator('#reasons', { hasText: /limit used up: \d/ }).waitFor()
      await looksWell(page, 'dashboard-outage')
    } finally {
      redis.signal('SIGCONT')
    }
    await page.locator('#trouble').waitFor({ state: 'hidden' })
  })
})

async function listen(throttled: Throttle, dashboard: ThrottleDashboard) {
  const app = express()
  app.use('/admin/throttle', dashboard)
  app.use(throttled)
  for (const path of ['/spend/:ms', LONG]) {
    app.get(path, (req, res) => {
      budgetOf(req).charge(Number(req.params.ms))
      res.end()
    })
  }
  app.get('/persons/:id', (_req, res) => void res.end())
  app.get('/slow', (_req, res) => void setTimeout(() => res.end(), 4_000))
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const close = async () => {
    void dashboard.close()
    server.closeAllConnections()
    server.close()
    await throttled.close()
  }
  return { origin: `http://127.0.0.1:${(server.address() as { port: number }).port}`, close }
}
