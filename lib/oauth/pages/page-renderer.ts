import { createHash } from 'node:crypto'
import type { Response } from 'express'
import { styleCss } from './assets'
import { usageError } from '../../http/help'
import type { LoginRefusal } from '../directories/user'
import type { ApprovedApp } from '../records/consents'
import { type PageSettings, type TermsOfAccess, isLink } from './page-options'
import { acceptedLocales, pageTexts, requestedLocales } from './page-texts'
import { type Html, type HtmlValue, html, isolated } from './html'
import { SUBMIT, actions, button, credentialFields, form, heading, layout, list, paragraph } from './templates'
import type { PageTexts } from './texts'
import { knownUrl } from '../../http/url'

/** An app as the pages name it. */
export interface AppName {
  readonly name: string
  /** Shown next to the name of a self-registered app. */
  readonly host?: string
}

/** The values of a page with a form. */
export interface FormPage {
  /** The URL that the form is sent to. */
  readonly action: string
  /** The sealed request. */
  readonly request: string
  readonly csrf: string
  /** Origins and schemes to which the response may redirect: sources for `form-action`. Undefined: any. */
  readonly onward: readonly string[] | undefined
  /** Undefined: the page names no app. */
  readonly app?: AppName
}

/** The values of the page on which a user approves an app. */
export interface ApprovalPage extends FormPage {
  readonly host: string
  /** Whether the code goes to a program on the user's device. */
  readonly isOnDevice: boolean
  /** Whether nobody here has checked the app. */
  readonly isUnverified: boolean
  /** The host of its metadata document. */
  readonly source: string | undefined
  readonly scope: readonly string[]
  readonly user: string
}

/** A way on to an app that the user may not know. */
export interface LeavePage {
  readonly link: string
  readonly app: AppName
  readonly host: string
}

/** What has come to an end. */
export type Stop =
  'badRequest' | 'forbidden' | 'leave' | 'loggedOut' | 'noWayBack' | 'startAgain' | 'tooMany' | 'unavailable'

/** Why a login page is shown again. */
export type LoginNotice =
  | ('wrongPassword' | 'tooManyAttempts' | 'tooManyLogins' | 'pageExpired' | 'cookiesNeeded')
  | ('otherUser' | 'otherAddress' | 'otherAccount')

/** What a login page that is shown again says. */
export interface LoginAgain {
  /** Of the response. */
  readonly status?: number
  /** As it was typed. */
  readonly username?: string
  readonly notice?: LoginNotice
  readonly minutes?: number
  /** The app's own reason, in place of a notice. */
  readonly refusal?: LoginRefusal
}

/** What is between a page's header and its end. */
interface PageContent {
  readonly title: string
  readonly lead: string
  readonly main?: Html | undefined
}

/** Values of the placeholders in a text: `{ app: 'Tree Sketcher' }`. */
type Words = Readonly<Record<string, string>>

/** A link in the text of a note. */
const LINK = /<a href="([^\s"<>]+)">([^<>]+)<\/a>/

/** Renders the pages: plain HTML without scripts, which loads nothing but the logo. */
export class PageRenderer {
  /** `Cross-Origin-Opener-Policy` of the pages, and of the redirects between them. */
  readonly openerPolicy: string
  readonly #settings: PageSettings
  readonly #css: string
  readonly #policy: string
  /** The languages that the request of a response names. */
  readonly #locales = new WeakMap<Response, readonly string[]>()
  readonly #ways = new WeakMap<Response, LeavePage>()

  constructor(settings: PageSettings) {
    this.#settings = settings
    this.openerPolicy = settings.openerPolicy
    this.#css = styleCss + settings.css
    const logo = settings.logo?.startsWith('https:') ? ` ${knownUrl(settings.logo).origin}` : ''
    const hash = createHash('sha256').update(this.#css).digest('base64')
    this.#policy =
      `default-src 'none'; style-src 'sha256-${hash}'; img-src data:${logo}; ` +
      `base-uri 'none'; frame-ancestors 'none'`
  }

  /** The terms of access in the response's language; undefined if there are none. */
  terms(res: Response): TermsOfAccess | undefined {
    return this.#settings.terms?.(this.#localesOf(res))
  }

  /** Chooses the language of the response's page. @param locales the request's `ui_locales` */
  speak(res: Response, locales: string | undefined): void {
    if (locales !== undefined) this.#locales.set(res, requestedLocales(locales))
  }

  login(res: Response, page: FormPage & LoginAgain & { readonly username: string }): void {
    const { app, status = 200, notice, minutes, refusal, username } = page
    const words = { app: shownApp(app), minutes: String(minutes) }
    const texts = this.#texts(res, words)
    const link = refusal?.link
    if (link && !isLink(link)) throw usageError('authenticate() returned a link that is no http(s) address or path')
    const way = link && html` <a href="${link.href}">${link.text}</a>`
    const said = refusal?.refused ?? (notice && texts[notice])
    const cancel = html`<button class="quiet" name="action" value="cancel" formnovalidate>${texts.cancel}</button>
`
    const main = html`${
      said !== undefined &&
      html`<p class="notice" role="alert">${said}${way}</p>
`
    }${form(
      page,
      html`${credentialFields(texts, username)}${actions([button('primary', 'login', texts.login), cancel])}`,
    )}${this.#settings.links.map(
      ({ text, href }) => html`<p class="link"><a href="${href}">${text}</a></p>
`,
    )}${paragraph('note', noteOf(texts, words))}`
    this.#sendForm(res, status, texts, { title: texts.loginTitle, lead: texts.loginLead, main }, page)
  }

  termsOfAccess(res: Response, page: FormPage & { readonly user: string }): void {
    const texts = this.#texts(res, { app: shownApp(page.app), user: page.user })
    const paragraphs = (this.terms(res)?.paragraphs ?? []).map(
      (text) => html`<p dir="auto">${text}</p>
`,
    )
    const main = html`<div class="terms" tabindex="0" role="region" aria-label="${texts.termsTitle}">
${paragraphs}</div>
${decision(texts, page, texts.termsAccept, texts.termsDecline)}`
    this.#sendForm(res, 200, texts, { title: texts.termsTitle, lead: texts.termsLead, main }, page)
  }

  /** Asks the user to approve the app. */
  approval(res: Response, page: ApprovalPage): void {
    const { app, host, user, source } = page
    const texts = this.#texts(res, { app: shownApp(app), host: isolated(host), user, source: isolated(source ?? '') })
    const from = source !== undefined && ` ${texts.approvalSource}`
    const main = html`<p>${page.isOnDevice ? texts.approvalWhereDevice : texts.approvalWhere}</p>
${page.isUnverified && paragraph('notice', [texts.approvalUnchecked, from])}<p>${texts.approvalMay}</p>
${list(mayDo(texts, page.scope))}${decision(texts, page, texts.approvalAccept, texts.approvalDecline)}`
    this.#sendForm(res, 200, texts, { title: texts.approvalTitle, lead: texts.approvalLead, main }, page)
  }

  /** Lists the apps that may act for the user. */
  apps(res: Response, page: FormPage & { readonly user: string; readonly apps: readonly ApprovedApp[] }): void {
    const texts = this.#texts(res, { user: page.user })
    const sections = page.apps.map(
      ({ clientId, name, hosts, scope, since }) => html`<section>
<h2>${shownApp({ name, host: hosts.join(', ') })}</h2>
<p>${withWords(texts.appsSince, { date: dayOf(since, texts.lang) })}</p>
${list(mayDo(texts, scope))}${actions(button('quiet', clientId, texts.appsWithdraw, 'app'))}</section>
`,
    )
    const lead = page.apps.length > 0 ? texts.appsLead : texts.appsNone
    const main = html`${form(page, html`${sections}`)}${paragraph('note', texts.signedInAs)}`
    this.#sendForm(res, 200, texts, { title: texts.appsTitle, lead, main }, page)
  }

  /**
   * Sends the response to the app by a form that submits itself, or by its button where scripts are off.
   *
   * @param page `framedBy`: the app, which may ask without a page in a frame of its own (OIDC Core §3.1.2.1, `prompt=none`)
   */
  formPost(
    res: Response,
    page: Pick<FormPage, 'action' | 'onward' | 'app'> & {
      readonly params: Readonly<Record<string, string>>
      readonly framedBy: string | undefined
    },
  ): void {
    const texts = this.#texts(res, { app: shownApp(page.app) })
    const fields = Object.entries(page.params).map(
      ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">
`,
    )
    const main = html`<form method="post" action="${page.action}">
${fields}<div class="actions"><button class="primary">${texts.continue}</button></div>
</form>
<script>${SUBMIT}</script>
`
    const script = createHash('sha256').update(SUBMIT).digest('base64')
    const framed = page.framedBy !== undefined && isSource(page.framedBy) ? page.framedBy : undefined
    const policy = this.#policy
      .replace('; ', `; script-src 'sha256-${script}'; `)
      .replace("frame-ancestors 'none'", `frame-ancestors ${framed ?? "'none'"}`)
    this.#send(res, 200, texts, { title: texts.continueTitle, lead: texts.continueLead, main }, page.onward, policy)
  }

  /** @param isRefused the app asked for an address that is not registered */
  logout(res: Response, isRefused: boolean, page: FormPage): void {
    const texts = this.#texts(res, {})
    const lead = isRefused ? `${texts.noWayBackLead} ${texts.logoutLead}` : texts.logoutLead
    const main = form(page, actions(button('primary', 'logout', texts.logout)))
    this.#sendForm(res, isRefused ? 400 : 200, texts, { title: texts.logoutTitle, lead, main }, page)
  }

  /** Where the response's page leads on, if it is a page of {@link stop} that is not told. */
  offer(res: Response, way: LeavePage): void {
    this.#ways.set(res, way)
  }

  /**
   * A page without a form: what has come to an end, and where it leads on.
   *
   * @param more `report`: what a person can report; nothing of it is from the request
   */
  stop(
    res: Response,
    status: number,
    what: Stop,
    more: {
      readonly way?: LeavePage | undefined
      readonly report?: { readonly code: string; readonly id: string }
    } = {},
  ): void {
    const { way = this.#ways.get(res), report } = more
    const texts = this.#texts(res, { app: shownApp(way?.app), host: isolated(way?.host ?? ''), ...report })
    const go = way && html`<a class="button quiet" href="${way.link}" rel="noreferrer">${texts.leaveGo}</a>`
    const main = html`${go && actions(go)}${report && paragraph('note', texts.errorReport)}`
    this.#send(res, status, texts, { title: texts[`${what}Title`], lead: texts[`${what}Lead`], main }, [])
  }

  /** The texts of the response's page, with the words put in; but for the login page's note, see {@link noteOf}. */
  #texts(res: Response, words: Words): PageTexts {
    const texts = pageTexts(this.#settings.texts, this.#localesOf(res))
    const filled = Object.entries(texts).map(([name, text]) => [
      name,
      typeof text === 'string' && name !== 'loginNote' ? withWords(text, words) : (text as unknown),
    ])
    return Object.fromEntries(filled) as PageTexts
  }

  #localesOf(res: Response): readonly string[] {
    const asked = this.#locales.get(res) ?? requestedLocales(queryLocales(res.req.url))
    return asked.length > 0 ? asked : acceptedLocales(res.req.headers['accept-language'])
  }

  #sendForm(
    res: Response,
    status: number,
    texts: PageTexts,
    content: PageContent,
    { action, onward }: Pick<FormPage, 'action' | 'onward'>,
  ): void {
    // Under another name of this host the page's form still goes to the issuer.
    const { host, origin } = knownUrl(action)
    this.#send(res, status, texts, content, onward && host !== res.req.headers.host ? [origin, ...onward] : onward)
  }

  #send(
    res: Response,
    status: number,
    texts: PageTexts,
    { title, lead, main }: PageContent,
    onward: readonly string[] | undefined,
    policy = this.#policy,
  ): void {
    const { brand, logo } = this.#settings
    const page = { lang: texts.lang, isRtl: texts.dir === 'rtl', brand, logo }
    const [head, body] = layout(page, title, html`${heading(title, lead)}${main}`)
    const text = head.text + this.#css + body.text
    res.status(status)
    const formAction = onward && `; form-action ${["'self'", ...onward.filter(isSource)].join(' ')}`
    res.setHeader('Content-Security-Policy', policy + (formAction ?? ''))
    if (policy.includes("frame-ancestors 'none'")) res.setHeader('X-Frame-Options', 'DENY')
    res.setHeader('X-Content-Type-Options', 'nosniff')
    res.setHeader('Referrer-Policy', 'no-referrer')
    res.setHeader('Content-Type', 'text/html; charset=utf-8')
    res.setHeader('Content-Length', Buffer.byteLength(text))
    res.end(res.req.method === 'HEAD' ? undefined : text)
  }
}

/** The form of a page on which a user who is signed in decides. */
function decision(texts: PageTexts, page: FormPage, accept: string, decline: string): Html {
  const buttons = [button('primary', 'accept', accept), button('quiet', 'decline', decline)]
  const other = html` <button class="plain" name="action" value="other">${texts.useOther}</button>`
  return form(page, html`${actions(buttons)}${paragraph('note', [texts.signedInAs, other])}`)
}

/** The login page's note. Links that the app's text has are links; the words in it stay text. */
function noteOf({ loginNote }: PageTexts, words: Words): readonly HtmlValue[] {
  // split() keeps what a pattern captures: text, address, text of the link, text, …
  const pieces = loginNote.split(LINK)
  return pieces.map((piece, i): HtmlValue => {
    const text = withWords(piece, words)
    const href = i % 3 === 2 ? (pieces[i - 1] as string) : undefined
    if (href === undefined) return i % 3 === 0 && text
    return isLink({ text, href }) ? html`<a href="${href}">${text}</a>` : `<a href="${href}">${text}</a>`
  })
}

/** The app's name, and the host that gets the code. Each stands for itself, in whatever direction it is written. */
function shownApp(app: AppName | undefined): string {
  if (app === undefined) return ''
  return isolated(app.name) + (app.host === undefined ? '' : ` (${isolated(app.host)})`)
}

/** What an app may do, in words. */
function mayDo({ scopes, approvalAct, approvalScope }: PageTexts, scope: readonly string[]): readonly string[] {
  const words = (one: string) => (Object.hasOwn(scopes, one) ? (scopes[one] as string) : inWords(one))
  const inWords = (one: string) => approvalScope.replaceAll('{scope}', () => one)
  return [approvalAct, ...scope.map(words)]
}

function dayOf(date: Date, lang: string): string {
  const [language = 'en'] = /^[a-z]{2,3}\b/i.exec(lang) ?? []
  return date.toLocaleDateString(language, { dateStyle: 'long', timeZone: 'UTC' })
}

/** Puts words in for `{app}` and others. By a function: `$&` in a name is no pattern. */
function withWords(text: string, words: Words): string {
  return text.replace(/\{(app|host|user|minutes|code|id|source|date)\}/g, (all, name: string) => words[name] ?? all)
}

/** Whether the text is one source: no character in it ends a source or a directive. */
function isSource(source: unknown): boolean {
  return typeof source === 'string' && /^[\w.:/+-]+$/.test(source)
}

function queryLocales(url: string): string | undefined {
  return new URLSearchParams(url.split('?')[1]).get('ui_locales') ?? undefined
}
