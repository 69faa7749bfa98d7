import type { Response } from 'express'

/** Fields of every page: only this origin, nothing inline, no frames. The address of a callback contains a code. */
export const PAGE_HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'",
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ].join('; '),
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
} as const

/** A part of a page: a sentence, or a text of several lines with its heading. */
export type PagePart = string | { readonly heading: string; readonly text: string }

/** A link at the end of a page: its address and its words. */
export type PageLink = readonly [href: string, words: string]

/** Sends a page of this app, in the style of the console. It is not cached, since it may show a token. */
export function sendPage(
  res: Response,
  status: number,
  title: string,
  parts: readonly PagePart[],
  links: readonly PageLink[],
): void {
  const body = parts.map((part) =>
    typeof part === 'string'
      ? `<p>${escaped(part)}</p>`
      : `<h2>${escaped(part.heading)}</h2><pre tabindex="0" role="region" aria-label="${attribute(part.heading)}">` +
        `${escaped(part.text)}</pre>`,
  )
  const ways = links.map(([href, words]) => `<a href="${attribute(href)}">${escaped(words)}</a>`)
  res.status(status).set(PAGE_HEADERS).set('Cache-Control', 'no-store').type('html')
  res.send(`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${escaped(title)}: express-tollgate demo</title>
    <link rel="icon" href="/favicon.ico" />
    <link rel="stylesheet" href="/console.css" />
  </head>
  <body class="single">
    <header><p class="brand">express-tollgate demo <span>Family Records API</span></p></header>
    <main>
      <section>
        <h1>${escaped(title)}</h1>
        ${body.join('\n        ')}
        <p class="ways">${ways.join(' ')}</p>
      </section>
    </main>
  </body>
</html>
`)
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

function attribute(text: string): string {
  return escaped(text).replaceAll('"', '&quot;')
}
