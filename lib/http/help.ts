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

/** Class of an error: `TypeError`, `RangeError`. */
type ErrorClass = new (message: string, options?: ErrorOptions) => Error

/**
 * Error with a stable code. Its message ends with the address of the heading that explains the code.
 *
 * @param code `TOLLGATE_DEGRADED`: a heading of docs/troubleshooting.md
 */
export function codedError(
  code: string,
  message: string,
  Class: ErrorClass = Error,
  options?: ErrorOptions,
): Error & { readonly code: string } {
  return Object.assign(new Class(explained(code, message), options), { code })
}

/** Error of an invalid option, thrown by a factory. */
export function optionError(message: string, Class: ErrorClass = TypeError, options?: ErrorOptions): Error {
  return codedError('TOLLGATE_OPTION', message, Class, options)
}

/** Error of middleware or a function that is mounted or called in the wrong way. */
export function usageError(message: string, Class: ErrorClass = TypeError, options?: ErrorOptions): Error {
  return codedError('TOLLGATE_USAGE', message, Class, options)
}

/** Error of a store, or of a Redis client or URL, that cannot be used. */
export function storeError(message: string, Class: ErrorClass = TypeError): Error {
  return codedError('TOLLGATE_STORE', message, Class)
}

/** Error of a key or a secret that cannot be used. The message never shows its value. */
export function keyError(message: string, Class: ErrorClass = TypeError): Error {
  return codedError('TOLLGATE_KEYS', message, Class)
}

/** Error in the list of apps or users that a directory of the authorization server received. */
export function registrationError(message: string): Error {
  return codedError('TOLLGATE_REGISTRATION', message, TypeError)
}
