import { createHash } from 'node:crypto'
import type { Response } from 'express'
import { formPostHtml, layoutHtml, loginHtml, logoutHtml, messageHtml, styleCss, termsHtml } from './assets'
import type { PageSettings } from './page-options'
import { type TemplateValues, fillTemplate } from './template'
import type { PageTexts } from './texts'

/** The values of a page with a form. */
export interface FormPage {
  /** The URL that the form is sent to. */
  readonly action: string
  /** The sealed request. */
  readonly request: string
  readonly csrf: string
  /** Origins to which the response may redirect: sources for `form-action`. */
  readonly onward: readonly string[]
  /** The request's `ui_locales`, to choose the page's language. */
  readonly locales: readonly string[]
  readonly app: string
}

/** Why a login page is shown again. */
export type LoginNotice = 'wrongPassword' | 'tooManyAttempts' | 'tooManyLogins' | 'pageExpired' | 'cookiesNeeded'

const SUBMIT = /<script>(.*)<\/script>/.exec(formPostHtml)?.[1] ?? ''

/** Renders the pages: plain HTML without scripts, which loads nothing but the logo. */
export class PageRenderer {
  readonly #settings: PageSettings
  readonly #css: string
  readonly #policy: string

  constructor(settings: PageSettings) {
    this.#settings = settings
    this.#css = styleCss + settings.css
    const logo = settings.logo?.startsWith('https:') ? ` ${new URL(settings.logo).origin}` : ''
    const hash = createHash('sha256').update(this.#css).digest('base64')
    this.#policy =
      `default-src 'none'; style-src 'sha256-${hash}'; img-src data:${logo}; ` +
      `base-uri 'none'; frame-ancestors 'none'; form-action`
  }

  get terms(): PageSettings['terms'] {
    return this.#settings.terms
  }

  login(
    res: Response,
    status: number,
    page: FormPage & { readonly username: string; readonly notice?: LoginNotice; readonly minutes?: number },
  ): void {
    const texts = this.#texts(page)
    const { action, request, csrf, username, notice } = page
    const values = {
      title: texts.loginTitle,
      lead: texts.loginLead,
      notice: notice && texts[notice].replaceAll('{minutes}', String(page.minutes)),
      usernameLabel: texts.username,
      passwordLabel: texts.password,
      login: texts.login,
      cancel: texts.cancel,
      note: texts.loginNote,
      askName: username === '',
      askPassword: username !== '',
    }
    this.#send(res, status, texts, loginHtml, { ...values, action, request, csrf, username }, page.onward)
  }

  termsOfAccess(res: Response, page: FormPage & { readonly user: string }): void {
    const texts = this.#texts(page)
    const { action, request, csrf } = page
    const values = {
      title: texts.termsTitle,
      lead: texts.termsLead,
      paragraphs: this.#settings.terms?.paragraphs ?? [],
      accept: texts.termsAccept,
      decline: texts.termsDecline,
      signedInAs: texts.signedInAs.replaceAll('{user}', page.user),
    }
    this.#send(res, 200, texts, termsHtml, { ...values, action, request, csrf }, page.onward)
  }

  /** Sends the response to the app by a form that submits itself, or by its button where scripts are off. */
  formPost(
    res: Response,
    page: Pick<FormPage, 'action' | 'onward' | 'app'> & { readonly params: Readonly<Record<string, string>> },
  ): void {
    const texts = this.#texts({ locales: [], app: page.app })
    const values = { title: texts.continueTitle, lead: texts.continueLead, continue: texts.continue }
    const script = createHash('sha256').update(SUBMIT).digest('base64')
    const policy = this.#policy.replace('; ', `; script-src 'sha256-${script}'; `)
    this.#send(res, 200, texts, formPostHtml, { ...values, ...page.params, action: page.action }, page.onward, policy)
  }

  logout(res: Response, page: FormPage): void {
    const texts = this.#texts(page)
    const { action, request, csrf } = page
    const values = { title: texts.logoutTitle, lead: texts.logoutLead, logout: texts.logout }
    this.#send(res, 200, texts, logoutHtml, { ...values, action, request, csrf }, page.onward)
  }

  loggedOut(res: Response): void {
    const texts = this.#texts({ locales: [], app: '' })
    this.#send(res, 200, texts, messageHtml, { title: texts.loggedOutTitle, lead: texts.loggedOutLead }, [])
  }

  /** Shows what went wrong, with a code and an id that a person can report, and nothing from the request. */
  error(
    res: Response,
    status: number,
    { code, id }: { readonly code: string; readonly id: string },
    headers: Readonly<Record<string, string>> = {},
  ): void {
    const texts = this.#texts({ locales: [], app: '' })
    const what = status === 503 ? 'unavailable' : status === 403 ? 'forbidden' : 'badRequest'
    const report = texts.errorReport.replaceAll('{code}', code).replaceAll('{id}', id)
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
    const values = { title: texts[`${what}Title`], lead: texts[`${what}Lead`], report }
    this.#send(res, status, texts, messageHtml, values, [])
  }

  #texts({ locales, app }: { locales: readonly string[]; app: string }): PageTexts {
    const texts: Record<string, string> = { ...this.#settings.texts(locales) }
    for (const [name, text] of Object.entries(texts)) texts[name] = text.replaceAll('{app}', app)
    return texts as unknown as PageTexts
  }

  #send(
    res: Response,
    status: number,
    texts: PageTexts,
    main: string,
    values: TemplateValues,
    onward: readonly string[],
    policy = this.#policy,
  ): void {
    const { brand, logo } = this.#settings
    const all = { ...values, brand, logo, lang: texts.lang }
    const html = fillTemplate(
      layoutHtml.replace('<!--main-->', () => main),
      all,
    ).replace('/*css*/', () => this.#css)
    res.status(status)
    res.setHeader('Content-Security-Policy', `${policy} ${["'self'", ...onward].join(' ')}`)
    res.setHeader('X-Frame-Options', 'DENY')
    res.setHeader('X-Content-Type-Options', 'nosniff')
    res.setHeader('Referrer-Policy', 'no-referrer')
    res.setHeader('Cross-Origin-Opener-Policy', 'same-origin')
    res.setHeader('Content-Type', 'text/html; charset=utf-8')
    res.setHeader('Content-Length', Buffer.byteLength(html))
    res.end(res.req.method === 'HEAD' ? undefined : html)
  }
}
