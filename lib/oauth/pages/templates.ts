import { type Html, type HtmlValue, html, textOnly } from './html'

/** Completes a form that submits itself. Its hash stands in the page's policy. */
export const SUBMIT = 'document.forms[0].submit()'

/** The whole page, in two halves: the style sheet comes between them, as it is. */
export function layout(
  page: { readonly lang: string; readonly isRtl: boolean; readonly brand: string; readonly logo: string | undefined },
  title: string,
  main: Html,
): readonly [head: Html, body: Html] {
  const { lang, isRtl, brand, logo } = page
  const head = html`<!doctype html>
<html lang="${lang}"${isRtl && html` dir="rtl"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${textOnly(`${title} · ${brand}`)}</title>
<link rel="icon" href="data:,">
<style>`
  const image = logo !== undefined && html`<img src="${logo}" alt="" width="32" height="32">`
  const body = html`</style>
</head>
<body>
<div class="sheet">
<header>${image}<span class="brand">${brand}</span></header>
<main>
${main}
</main>
</div>
</body>
</html>
`
  return [head, body]
}

/** The beginning of each page. */
export function heading(title: string, lead: string): Html {
  return html`<h1>${title}</h1>
<p class="lead">${lead}</p>
`
}

/** A form of this server's, with its state. */
export function form(
  { action, request, csrf }: { readonly action: string; readonly request: string; readonly csrf: string },
  content: Html,
): Html {
  return html`<form method="post" action="${action}">
<input type="hidden" name="request" value="${request}">
<input type="hidden" name="csrf" value="${csrf}">
${content}</form>
`
}

/** A form's buttons. */
export function actions(buttons: HtmlValue): Html {
  return html`<div class="actions">
${buttons}</div>
`
}

/** A button that sends `name=value`. */
export function button(look: 'primary' | 'quiet', value: string, text: string, name = 'action'): Html {
  return html`<button class="${look}" name="${name}" value="${value}">${text}</button>
`
}

/** A paragraph with the class. */
export function paragraph(look: 'note' | 'notice', content: HtmlValue): Html {
  return html`<p class="${look}">${content}</p>
`
}

/** A list of texts. */
export function list(items: readonly string[]): Html {
  return html`<ul>
${items.map(
  (item) => html`<li>${item}</li>
`,
)}</ul>
`
}

/** The fields of a login. The one that the user fills first has the focus. */
export function credentialFields(
  labels: { readonly username: string; readonly password: string },
  username: string,
): Html {
  const focus = html`autofocus`
  const [name, password] = username === '' ? [focus, ''] : ['', focus]
  return html`<label for="username">${labels.username}</label>
<input id="username" name="username" value="${username}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="256" required ${name}>
<label for="password">${labels.password}</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required ${password}>
`
}
