// Finds libfaketime for `npm run chaos`, or unpacks Debian's into .cache/faketime (no root needed).
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { LIBRARIES, unpack } from './debian.mjs'

const cache = join(import.meta.dirname, '..', '.cache', 'faketime')
const place = `lib/${LIBRARIES}/faketime/libfaketimeMT.so.1`

/** @returns {string | undefined} the library's path */
export function findFaketime() {
  return ['/usr', join(cache, 'root/usr')].map((root) => join(root, place)).find((file) => existsSync(file))
}

/** Finds the library, or gets it; ends the process with a clear message when it cannot. */
export function needFaketime() {
  const found = findFaketime()
  if (found) return found
  const why = unpack(cache, ['libfaketime'])
  if (findFaketime()) return findFaketime()
  console.error(
    `npm run chaos needs libfaketime, and Debian's could not be had (${why}): sudo apt-get install libfaketime`,
  )
  process.exit(1)
}
