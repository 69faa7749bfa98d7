// `npm run test:browser`: that the pages can be read, whatever accent an app gives them.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { startServer } from '../oauth/support'
import { request } from '../oauth/user-agent'
import { launch } from './looks'
import { assertIs, atLeast } from '../support/until'

/** The documented one, the default ones, and those in whose middle black and white are hardest to tell apart. */
const ACCENTS = [undefined, '#7a1f3d', '#6fc7a2', '#000', '#fff', '#767676', '#757575', '#f00', '#ff0', '#00f', '#0af']

/** What is read on what, by selector. */
const TEXTS = ['.primary', '.quiet', 'h1', '.lead', '.note', 'label', '.brand', 'input[name=username]']

describe('the pages under any accent', () => {
  let browser: Browser
  before(async () => (browser = await launch()))
  after(() => browser.close())

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const accent of ACCENTS) {
      it(`WCAG 2.2 §1.4.3: every text has 4.5 : 1, ${colorScheme}, --accent ${accent ?? 'by default'}`, async () => {
        const running = await startServer(
          accent === undefined ? {} : { pages: { css: `:root { --accent: ${accent} }` } },
        )
        const page = await browser.newPage({ colorScheme })
        await page.goto(`${running.issuer}/authorization?${new URLSearchParams(request()).toString()}`)
        const measure = (pairs: readonly (readonly [string, string])[]) =>
          page.evaluate<number[]>(`(${CONTRASTS})(${JSON.stringify(pairs)})`)
        const ratios = await measure(TEXTS.map((selector) => [selector, 'color'] as const))
        await page.keyboard.press('Tab')
        const [ring] = await measure([[':focus-visible', 'outlineColor']])
        await page.close()
        assert.equal(ratios.length, TEXTS.length)
        for (const [i, ratio] of ratios.entries()) assertIs(ratio, atLeast(4.5), `${TEXTS[i]}: ${ratio.toFixed(2)} : 1`)
        assertIs(ring ?? 0, atLeast(3), `WCAG 2.2 §1.4.11: the focus ring has ${ring?.toFixed(2)} : 1`)
      })
    }
  }
})

/** Runs in the page: the contrast of each element's text with what is behind it (WCAG 2.2, contrast ratio). */
const CONTRASTS = `(selectors) => {
  const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  const groundOf = (element) => {
    const colour = element ? getComputedStyle(element).backgroundColor : 'white'
    return colour === 'rgba(0, 0, 0, 0)' ? groundOf(element.parentElement) : colour
  }
  const luminance = (colour) => {
    context.fillStyle = colour
    context.fillRect(0, 0, 1, 1)
    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((byte) => {
      const part = byte / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  return selectors.map(([selector, property]) => {
    const element = document.querySelector(selector)
    const behind = property === 'color' ? element : element.parentElement
    const [ink, ground] = [luminance(getComputedStyle(element)[property]), luminance(groundOf(behind))]
    return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05)
  })
}`
