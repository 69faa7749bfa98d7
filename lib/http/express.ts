import type * as Express from 'express'
import { usageError } from './help'

/** The app's own Express, 4 or 5: a peer dependency, so that both sides have one copy. */
export const { Router, urlencoded } = expressOfApp()

/** @throws {Error} that says what to install, where Express is not there */
function expressOfApp(): typeof Express {
  try {
    // An import cannot be caught, and Node's own error does not say which package wants what.
    // eslint-disable-next-line @typescript-eslint/no-require-imports
    return require('express') as typeof Express
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code !== 'MODULE_NOT_FOUND' || !message.includes("'express'")) throw cause
    throw usageError('express-tollgate needs Express 4.18 or newer, or 5, beside it: npm install express', Error, {
      cause,
    })
  }
}
