import { cpSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { brokenLinks } from '../broken-links.mjs'
import { githubSlug } from '../github-slug.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')

/** Folders without pages of the site. */
const NO_PAGES = ['.*', 'bench', 'coverage', 'demo', 'dist', 'etc', 'lib', 'node_modules', 'scripts', 'site']

/** Programs that pages show by a link. */
const RECIPES = 'examples/sign-in'

/** A gauge, as on the dashboard. */
const ICON = [
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1f6b4f"/>',
  '<rect x="6" y="12" width="20" height="8" rx="4" fill="#8fb5a7"/>',
  '<rect x="6" y="12" width="13" height="8" rx="4" fill="#fff"/></svg>',
].join('')

export default defineConfig({
  title: 'express-tollgate',
  description: 'Express middleware that rate-limits each user by processing time',
  lang: 'en',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  base: process.env.SITE_BASE ?? '/',
  srcDir: root,
  srcExclude: [...NO_PAGES.map((folder) => `${folder}/**`), '**/node_modules/**', 'CODE_OF_CONDUCT.md'],
  outDir: join(root, '.cache/site'),
  cacheDir: join(root, '.cache/vitepress'),
  rewrites: (path) => path.replace(/(^|\/)README\.md$/, '$1index.md'),
  cleanUrls: true,
  markdown: {
    languageAlias: { mjs: 'js' },
    anchor: { slugify: githubSlug() },
    config: (md) =>
      md.core.ruler.push('links', ({ tokens }) => tokens.forEach(({ children }) => pageLinks(children ?? []))),
  },
  themeConfig: {
    search: {
      provider: 'local',
      // Guides come before pages of the API reference.
      options: { miniSearch: { searchOptions: { boostDocument: (id) => (id.includes('/docs/api/') ? 0.2 : 1) } } },
    },
    outline: [2, 3],
    nav: [
      { text: 'Guide', link: '/docs/getting-started' },
      { text: 'Options', link: '/docs/options' },
      { text: 'API', link: '/docs/api/' },
      { text: 'FAQ', link: '/docs/faq' },
    ],
    sidebar: sidebar(),
  },
  buildEnd: ({ outDir, site }) => {
    cpSync(join(root, RECIPES), join(outDir, RECIPES), {
      recursive: true,
      filter: (path) => !/node_modules/.test(path),
    })
    const broken = brokenLinks(outDir, site.base)
    if (broken.length > 0) throw new Error(`links that lead nowhere:\n${broken.join('\n')}`)
  },
})

/**
 * Fits the links of a line to the site: README.md is index.md here, and a link to a program or a folder becomes plain
 * text, because the site has pages only, and the recipes that are copied beside them.
 */
function pageLinks(tokens) {
  let close
  for (const token of tokens) {
    if (token.type === 'link_open') {
      const href = token.attrGet('href') ?? ''
      const isRecipe = href.includes(`${RECIPES}/`) && !href.endsWith('/')
      const isPage = /^([a-z]+:|#)/i.test(href) || /\.md(#|$)/.test(href)
      close = isPage || isRecipe ? undefined : 'span'
      if (isRecipe) token.attrSet('target', '_blank')
      else if (isPage) token.attrSet('href', href.replace(/(^|\/)README\.md(?=#|$)/, '$1index.md'))
      else Object.assign(token, { type: 'span_open', tag: 'span', attrs: null })
    } else if (token.type === 'link_close' && close !== undefined) {
      Object.assign(token, { type: 'span_close', tag: close })
    }
  }
}

/** The kinds of pages with their pages: those of users as docs/README.md lists them, then those of maintainers. */
function sidebar() {
  const [, ...kinds] = readFileSync(join(root, 'docs/README.md'), 'utf8').split(/^## /m)
  const [, maintainers = ''] = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8').split(/^## Pages for maintainers$/m)
  const groups = kinds.map((kind) => ({ text: kind.split('\n')[0], items: itemsOf(kind, /^- /, 'docs') }))
  groups.find(({ text }) => text === 'Reference').items.push({ text: 'API reference', link: '/docs/api/' })
  const own = { text: 'Contributing', link: '/CONTRIBUTING' }
  const items = [own, ...itemsOf(maintainers.split(/^## /m)[0], /^\| \[/, '.')]
  return [...groups, { text: 'For maintainers', items, collapsed: true }]
}

/** The links to pages in the lines that begin so. */
function itemsOf(section, begin, folder) {
  const lines = section.split('\n').filter((line) => begin.test(line))
  return lines
    .flatMap((line) => [...line.matchAll(/\[([^\]]+)\]\(([^)]+\.md)\)/g)])
    .map(([, text, path]) => ({ text: text.replace(/^docs\/|\.md$|\/$/g, ''), link: linkOf(folder, path) }))
}

function linkOf(folder, path) {
  return `/${posix
    .join(folder, path)
    .replace(/(README|index)\.md$/, '')
    .replace(/\.md$/, '')}`
}
