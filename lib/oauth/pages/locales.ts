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

/** The languages of `ui_locales` (OIDC Core §3.1.2.1), in its order. */
export function requestedLocales(locales: string | undefined): readonly string[] {
  return locales?.split(' ').filter(isLocale) ?? []
}

const LONGEST_FIELD = 1_000

function isLocale(tag: string): boolean {
  return /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/.test(tag)
}
