/**
 * Normalizes a PEM (RFC 7468) from an environment variable: escaped line ends, one line, quotes, indentation or base64. A
 * body without its first and last line is taken as a public key, as Keycloak's console shows it.
 */
export function pemOf(text: string): string {
  const pem = text.includes('-----') ? text : Buffer.from(text, 'base64').toString('latin1')
  const [, label = 'PUBLIC KEY', body = text] =
    /-----BEGIN ([A-Z ]+)-----([^-]+)-----END/.exec(pem.replace(/\\[rn]/g, '\n')) ?? []
  const lines = body.replace(/\s/g, '').match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----\n`].join('\n')
}
