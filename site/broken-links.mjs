import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'

/**
 * Follows every internal link of a built site, its anchor included.
 *
 * @param {string} outDir the folder of the site
 * @param {string} base the path at which it is served: `/` or `/express-tollgate/`
 * @returns {string[]} `page: link` of each link that leads nowhere
 */
export function brokenLinks(outDir, base) {
  const pages = readdirSync(outDir, { recursive: true })
    .map((name) => String(name).replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.html'))
  const html = new Map(pages.map((page) => [page, readFileSync(join(outDir, page), 'utf8')]))
  const broken = []
  for (const [page, text] of html) {
    for (const [, link] of text.matchAll(/<a [^>]*?href="([^"]+)"/g)) {
      if (/^([a-z]+:)?\/\//i.test(link) || link.startsWith('mailto:')) continue
      const [path, anchor = ''] = decodeURI(link.replaceAll('&amp;', '&')).split('#')
      const target =
        path === ''
          ? page
          : fileOf(path.startsWith(base) ? path.slice(base.length) : posix.join(posix.dirname(page), path))
      const there = target !== undefined && (anchor === '' || !html.has(target) || hasAnchor(html.get(target), anchor))
      if (!there) broken.push(`${page}: ${link}`)
    }
  }
  return [...new Set(broken)]

  function fileOf(path) {
    const candidates =
      path === '' ? ['index.html'] : path.endsWith('/') ? [`${path}index.html`] : [`${path}.html`, path]
    return candidates.find(
      (file) => html.has(file) || (existsSync(join(outDir, file)) && statSync(join(outDir, file)).isFile()),
    )
  }
}

function hasAnchor(text, anchor) {
  return text.includes(` id="${anchor}"`)
}
