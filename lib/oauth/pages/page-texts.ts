import { answeredAtOnce } from '../../http/callback'
import { usageError } from '../../http/help'
import { ENGLISH, type PageTexts } from './texts'

/** Languages of a request that are read, and the characters of one: RFC 5646 §4.4.1 says that 35 are enough. */
const [MOST_LOCALES, LONGEST_LOCALE] = [20, 35]
/** Characters of `Accept-Language` that are read. */
const LONGEST_FIELD = 1_000
/** Languages that are written from right to left. */
const RIGHT_TO_LEFT = /^(ar|arc|ckb|dv|fa|he|iw|ks|nqo|ps|sd|syr|ug|ur|yi)\b/i

/**
 * The texts of a page: English ones, and those of the app in their place. What the app's function throws or returns by
 * mistake leaves the English text and is logged.
 *
 * @param given the app's function, whatever it returns
 */
export function pageTexts(given: (locales: readonly string[]) => unknown, locales: readonly string[]): PageTexts {
  const own = ownTexts(given, locales)
  const texts = { ...ENGLISH, ...own, scopes: { ...ENGLISH.scopes, ...own.scopes } }
  return { ...texts, dir: own.dir ?? (RIGHT_TO_LEFT.test(texts.lang) ? 'rtl' : 'ltr') }
}

function ownTexts(given: (locales: readonly string[]) => unknown, locales: readonly string[]): Partial<PageTexts> {
  try {
    const own = answeredAtOnce('pages.texts', given(locales))
    if (typeof own !== 'object' || own === null) throw usageError('pages.texts must return an object of texts')
    return Object.fromEntries(Object.entries(own).filter(([name, text]) => isText(name, text)))
  } catch (err) {
    console.error('express-tollgate: pages.texts failed, so this page is in English:', err)
    return {}
  }
}

function isText(name: string, text: unknown): boolean {
  if (name !== 'scopes') return typeof text === 'string'
  return typeof text === 'object' && text !== null && Object.values(text).every((one) => typeof one === 'string')
}

/** The languages of an `Accept-Language` field (RFC 9110 §12.5.4), best first: `['de-AT', 'de', 'en']`. */
export function acceptedLocales(field: string | undefined): readonly string[] {
  const ranges = (field ?? '').slice(0, LONGEST_FIELD).split(',')
  return ranges
    .map((range) => {
      const [tag = '', ...params] = range.split(';').map((part) => part.trim())
      const q = params.find((param) => param.startsWith('q='))?.slice(2)
      return { tag, weight: q === undefined ? 1 : Number(q) }
    })
    .filter(({ tag, weight }) => isLocale(tag) && weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ tag }) => tag)
}

/** The languages of `ui_locales` (OIDC Core §3.1.2.1), in its order: at most 20. What is no language tag is left out. */
export function requestedLocales(locales: string | undefined): readonly string[] {
  return locales?.split(' ').filter(isLocale).slice(0, MOST_LOCALES) ?? []
}

function isLocale(tag: string): boolean {
  return tag.length <= LONGEST_LOCALE && /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/.test(tag)
}
