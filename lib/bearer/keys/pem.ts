/**
 * The PEM as RFC 7468 has it, however an environment variable holds it: with `\\n`, on one line, quoted, indented, in
 * base64. Without its first and last line it is a public key, as Keycloak's console shows it.
 */
export function pemOf(text: string): string {
  const pem = text.includes('-----') ? text : Buffer.from(text, 'base64').toString('latin1')
  const [, label = 'PUBLIC KEY', body = text] =
    /-----BEGIN ([A-Z ]+)-----([^-]+)-----END/.exec(pem.replace(/\\[rn]/g, '\n')) ?? []
  const lines = body.replace(/\s/g, '').match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----\n`].join('\n')
}
