import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { type Browser, type Page, chromium } from 'playwright-core'

const SHOTS = '.cache/screenshots'
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

/** Pages are used at a desk, and looked at on each, light and dark. */
export const DESK = { width: 1_280, height: 900 }
const WIDTHS = { phone: { width: 390, height: 844 }, desk: DESK }

/** The run's Chromium: scripts/test.mjs starts one for all files. */
export function launch(): Promise<Browser> {
  mkdirSync(SHOTS, { recursive: true })
  return chromium.connect(process.env.SPEC_CHROMIUM as string)
}

/** What the page complains of, policy violations included, while it is open. */
export function faultsOf(page: Page): string[] {
  const faults: string[] = []
  page.on('console', (message) => {
    // Chromium reports every 4xx answer as an error of its own; those are what the specs ask for.
    if (['error', 'warning'].includes(message.type()) && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text())
  })
  page.on('pageerror', (err) => faults.push(err.message))
  return faults
}

/** On phone and desk, light and dark: a picture, nothing that axe-core objects to, and nothing wider than the page. */
export async function looksWell(page: Page, name: string): Promise<void> {
  await page.evaluate(`if (!globalThis.axe) { ${AXE} }`)
  for (const [width, viewport] of Object.entries(WIDTHS)) {
    await page.setViewportSize(viewport)
    for (const colorScheme of ['light', 'dark'] as const) {
      const view = `${name}, ${width}, ${colorScheme}`
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.screenshot({ path: `${SHOTS}/${name}-${width}-${colorScheme}.png`, fullPage: true })
      const violations = await page.evaluate(
        `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map((n) => n.html).join()))`,
      )
      assert.deepEqual(violations, [], `${view}: axe-core`)
      const wide = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
      assert.equal(wide, 0, `${view}: nothing is wider than the page`)
    }
  }
}
