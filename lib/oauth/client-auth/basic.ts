import { isUtf8 } from 'node:buffer'

/** A client id and the secret with it, as one way of reading a Basic field finds them. */
export interface BasicCredentials {
  readonly clientId: string
  /** The secret, form-decoded and as it stands. */
  readonly secrets: readonly string[]
}

/** How many colons are tried as the one that ends the client id. Each costs two look-ups. */
const MOST_COLONS = 4

/**
 * Reads an `Authorization: Basic` field: canonical base64 of UTF-8, or else of ISO 8859-1, which some libraries send. Both
 * halves are form-encoded (RFC 6749 §2.3.1), but many libraries do not encode them. A secret of base64 then has a `+`, and
 * a client id that is a URL has colons. So a field has several readings; a malformed one has none.
 */
export function readBasic(field: string): readonly BasicCredentials[] {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(field)?.[1]
  if (encoded === undefined) return []
  const bytes = Buffer.from(encoded, 'base64')
  if (bytes.toString('base64') !== encoded) return []
  const parts = bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1').split(':')
  return parts.slice(0, Math.min(MOST_COLONS, parts.length - 1)).flatMap((_, at) => {
    const [id, secret] = [parts.slice(0, at + 1).join(':'), parts.slice(at + 1).join(':')]
    if (id === '') return []
    return readings(id).map((clientId) => ({ clientId, secrets: readings(secret) }))
  })
}

function readings(text: string): readonly string[] {
  try {
    return [...new Set([decodeURIComponent(text.replaceAll('+', ' ')), text])]
  } catch {
    return [text] // a percent sign that encodes nothing
  }
}
