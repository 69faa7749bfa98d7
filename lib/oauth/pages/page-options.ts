import type { Dialect } from '../../http/answer/dialect'
import { optionError } from '../../http/help'
import { optionNames, optionOneOf, optionType, shown } from '../../http/options'
import type { PageTexts } from './texts'
import { isUrl, knownUrl } from '../../http/url'

/** The terms of access that users accept once, and again when `version` changes. */
export interface TermsOfAccess {
  /** The version of the text: `2026-11`. Users who accepted another version are asked again. */
  readonly version: string
  /** The text's paragraphs. */
  readonly paragraphs: readonly string[]
}

/** Texts in place of the English ones. */
type OwnTexts = { readonly [Name in keyof PageTexts]?: PageTexts[Name] | undefined }

/** A link on a page. */
export interface PageLink {
  readonly text: string
  /** An `http(s)` address, or a path of this host. */
  readonly href: string
}

/** The look and texts of the pages. */
export interface PageOptions {
  /** The service's name, at the top of each page. Default: the issuer's host. */
  readonly brand?: string | undefined
  /** An image next to the name: an `https` URL, or `data:image/…`. */
  readonly logo?: string | undefined
  /** CSS appended to the style sheet, whose colours are custom properties: `:root { --accent: #7a1f3d }`. The ink on the accent follows it. */
  readonly css?: string | undefined
  /**
   * Replaces the English texts. A function gets the request's `ui_locales`, or without them what the browser's
   * `Accept-Language` says: `['de-AT', 'de']`. Where it throws, the page is in English.
   */
  readonly texts?: OwnTexts | ((locales: readonly string[]) => OwnTexts) | undefined
  /**
   * The terms of access; `false` for none. A function gets the request's languages, as `texts` does. Default: a short text;
   * in the dialect `standard` none.
   */
  readonly terms?: (TermsOfAccess | false | ((locales: readonly string[]) => TermsOfAccess)) | undefined
  /** Links below the login form, such as `{ text: 'Forgot password?', href: '/reset' }`: `http(s)` addresses or paths. */
  readonly links?: readonly PageLink[] | undefined
  /**
   * The pages' `Cross-Origin-Opener-Policy`. Any but `unsafe-none` cuts a popup off from the app that opened it. Default
   * `unsafe-none`.
   */
  readonly openerPolicy?: 'unsafe-none' | 'same-origin-allow-popups' | 'same-origin' | undefined
}

const SERVICE_TERMS: TermsOfAccess = {
  version: '2',
  paragraphs: [
    'You sign in with an account of your own and keep its password to yourself.',
    'Apps that you sign in to act in your name. What they do counts as done by you.',
    'Signing out ends your session on this device and the access of the apps that you signed in to during it.',
  ],
}

/** The options, checked, with their defaults. */
export interface PageSettings {
  readonly brand: string
  readonly logo: string | undefined
  readonly css: string
  readonly texts: (locales: readonly string[]) => unknown
  /** Undefined: none. */
  readonly terms: ((locales: readonly string[]) => TermsOfAccess) | undefined
  readonly links: readonly PageLink[]
  readonly openerPolicy: string
}

/** A URL that is safe in an attribute and in a Content-Security-Policy. */
const LOGO = /^(https:\/\/[^\s"';,]+|data:image\/[^\s"']+)$/

/** @throws {TypeError} naming the invalid option */
export function pageSettings(options: PageOptions, host: string, dialect: Dialect): PageSettings {
  optionNames('pages', options, ['brand', 'logo', 'css', 'texts', 'terms', 'links', 'openerPolicy'])
  const { brand = host, logo, css = '', texts = {}, links = [], openerPolicy = 'unsafe-none' } = options
  const { terms = dialect === 'standard' ? false : SERVICE_TERMS } = options
  optionType('pages.brand', brand, 'string')
  optionType('pages.css', css, 'string')
  if (/<\/style/i.test(css)) throw optionError('pages.css must not end the style element')
  if (logo !== undefined && (typeof logo !== 'string' || !LOGO.test(logo))) {
    throw optionError(`pages.logo must be an https URL or data:image/…; received ${shown(logo)}`)
  }
  if (typeof texts !== 'function' && (typeof texts !== 'object' || texts === null)) {
    throw optionError(`pages.texts must be an object or a function; received ${shown(texts)}`)
  }
  if (terms !== false && typeof terms !== 'function') checkTerms(terms)
  if (!Array.isArray(links) || !links.every(isLink)) {
    throw optionError(
      `pages.links must be a list of { text, href }, each to an http(s) address or a path; received ${shown(links)}`,
    )
  }
  optionOneOf('pages.openerPolicy', openerPolicy, ['unsafe-none', 'same-origin-allow-popups', 'same-origin'])
  return {
    brand,
    logo,
    css,
    texts: typeof texts === 'function' ? texts : () => texts,
    terms: terms === false ? undefined : (locales) => checkTerms(typeof terms === 'function' ? terms(locales) : terms),
    links,
    openerPolicy,
  }
}

function checkTerms(terms: Partial<TermsOfAccess> | null | undefined): TermsOfAccess {
  const isText = (value: unknown) => typeof value === 'string'
  const { version, paragraphs } = terms ?? {}
  if (isText(version) && Array.isArray(paragraphs) && paragraphs.every(isText)) return terms as TermsOfAccess
  throw optionError('pages.terms must be false or have a version and paragraphs, all of them texts')
}

/** Whether it is a link that runs no script: browsers ignore spaces and line breaks in `java script:`, and so does URL. */
export function isLink(link: unknown): link is PageLink {
  const { text, href } = (link ?? {}) as Partial<PageLink>
  if (typeof text !== 'string' || typeof href !== 'string' || !isUrl(href, 'https://relative.invalid')) return false
  return /^https?:$/.test(knownUrl(href, 'https://relative.invalid').protocol)
}
