/** Folder of the guides. Relative to the package until the documentation has a public address. */
const DOCS = 'express-tollgate/docs'

/**
 * Message with the address of the heading that explains its code.
 *
 * @param code `TOLLGATE_ORDER`: a heading of docs/troubleshooting.md
 */
export function explained(code: string, message: string): string {
  return `${message} (${DOCS}/troubleshooting.md#${code.toLowerCase()})`
}

/** Address of the guide for users of another package: `express-rate-limit`. */
export function migrationGuide(peer: string): string {
  return `${DOCS}/migration/${peer}.md`
}

/** Error of an invalid option, thrown by a factory. Its code is `TOLLGATE_OPTION`. */
export function optionError<E extends Error = TypeError>(
  message: string,
  Kind: new (message: string) => E = TypeError as unknown as new (message: string) => E,
): E {
  return Object.assign(new Kind(explained('TOLLGATE_OPTION', message)), { code: 'TOLLGATE_OPTION' })
}

/** Error of middleware that is mounted or called in the wrong way, found at a request. Its code is `TOLLGATE_USAGE`. */
export function usageError(message: string): TypeError {
  return Object.assign(new TypeError(explained('TOLLGATE_USAGE', message)), { code: 'TOLLGATE_USAGE' })
}
