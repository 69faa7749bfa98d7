/** The credentials of `Authorization: Basic`, in the ways in which clients write them: decoded first, then as they came. */
export interface BasicCredentials {
  readonly clientIds: readonly string[]
  readonly secrets: readonly string[]
}

/**
 * Reads an `Authorization: Basic` field strictly: canonical base64 of UTF-8. Both halves are form-encoded (RFC 6749 §2.3.1),
 * but many libraries do not encode them, and a secret of base64 has a `+`. Undefined for anything else.
 */
export function readBasic(field: string): BasicCredentials | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(field)?.[1]
  if (encoded === undefined) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) return undefined
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const colon = text.indexOf(':')
    if (colon < 1) return undefined
    return { clientIds: readings(text.slice(0, colon)), secrets: readings(text.slice(colon + 1)) }
  } catch {
    return undefined // not UTF-8
  }
}

function readings(text: string): readonly string[] {
  try {
    return [...new Set([decodeURIComponent(text.replaceAll('+', ' ')), text])]
  } catch {
    return [text] // a percent sign that encodes nothing
  }
}
