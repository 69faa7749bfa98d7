/**
 * Rejects a login at once because a directory has too many to check already. `userDirectory()` throws it, and so may your
 * own directory. The server answers 503 with Retry-After and does not count the login as failed.
 *
 * @example throw new DirectoryBusyError(2)
 */
export class DirectoryBusyError extends Error {
  /** @param retryAfterSec whole seconds after which the client should try again, at least 1 */
  constructor(readonly retryAfterSec: number) {
    super(`The directory is busy. Try again in ${retryAfterSec} s.`)
    this.name = 'DirectoryBusyError'
  }
}
