/** The credentials of `Authorization: Basic`. */
export interface BasicCredentials {
  readonly clientId: string
  /** Form-decoded (RFC 6749 §2.3.1), where it can be. */
  readonly secret: string
  /** As it came: many libraries do not encode it, and a secret of base64 has a `+`. */
  readonly rawSecret: string
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
    const rawSecret = text.slice(colon + 1)
    return { clientId: formDecoded(text.slice(0, colon)), secret: decodedOrRaw(rawSecret), rawSecret }
  } catch {
    return undefined
  }
}

function decodedOrRaw(text: string): string {
  try {
    return formDecoded(text)
  } catch {
    return text
  }
}

function formDecoded(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '))
}
