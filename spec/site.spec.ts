import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, it } from 'node:test'
import { page, pages } from './support/markdown'

const home = join(process.cwd(), '.cache', `site-${process.pid}`)
after(() => rmSync(home, { recursive: true, force: true }))

it('brokenLinks() finds missing pages and missing anchors of a built site', async () => {
  const { brokenLinks } = (await import(join(process.cwd(), 'site/broken-links.mjs'))) as {
    brokenLinks: (outDir: string, base: string) => string[]
  }
  const files = {
    'index.html': `<h2 id="redis"></h2><a href="#redis">1</a><a class="x" href="/base/docs/options#wait">2</a>
      <a href="https://example.org/">3</a><a href="/base/docs/gone">4</a><a href="#gone">5</a>`,
    'docs/options.html':
      '<h3 id="wait"></h3><a href="../">6</a><a href="/base/docs/options#hold">7</a><a href="faq">8</a>',
  }
  for (const [file, html] of Object.entries(files)) {
    mkdirSync(dirname(join(home, file)), { recursive: true })
    writeFileSync(join(home, file), html)
  }
  assert.deepEqual(brokenLinks(home, '/base/').sort(), [
    'docs/options.html: /base/docs/options#hold',
    'docs/options.html: faq',
    'index.html: #gone',
    'index.html: /base/docs/gone',
  ])
})

it('githubSlug() makes the anchors that the links of the pages name', async () => {
  const { githubSlug } = (await import(join(process.cwd(), 'site/github-slug.mjs'))) as {
    githubSlug: () => (title: string) => string
  }
  const slug = githubSlug()
  for (const { path, headings, anchors } of pages(process.cwd())) {
    for (const { title } of headings) {
      const plain = title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      assert.ok(anchors.has(slug(plain)), `${path}: ${title}`)
    }
  }
  assert.equal(page(process.cwd(), 'docs/options.md').anchors.has('wait'), true)
})
