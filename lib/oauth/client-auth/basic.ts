/** The credentials of `Authorization: Basic`. */
export interface BasicCredentials {
  readonly clientId: string
  readonly secret: string
}

/**
 * Reads an `Authorization: Basic` field strictly: canonical base64 of UTF-8, both halves form-decoded (RFC 6749 §2.3.1).
 * Undefined for anything else.
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
    const [clientId, secret] = [text.slice(0, colon), text.slice(colon + 1)].map(formDecoded)
    return { clientId: clientId as string, secret: secret as string }
  } catch {
    return undefined
  }
}

function formDecoded(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}
