import { answeredAtOnce } from '../../http/callback'
import { usageError } from '../../http/help'
import { ENGLISH, type PageTexts } from './texts'

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
