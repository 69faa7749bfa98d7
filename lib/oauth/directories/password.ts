import { type ScryptOptions, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { optionRange } from '../../http/options'
import { hashSlots } from './hash-slots'

/** Work of one hash: 2^cost KiB of memory. 15 takes about 80 ms and 32 MiB. */
export const DEFAULT_COST = 15
/** Below 10, guessing is too cheap; above 20, one hash takes more than a gigabyte. */
export const [LEAST_COST, MOST_COST] = [10, 20]
const BLOCK = 8
const PARALLEL = 1
const KEY_BYTES = 32
/** A longer password is refused without hashing it. */
const LONGEST_BYTES = 1_024

const FORM = /^scrypt\$(\d{1,2})\$([A-Za-z0-9_-]{22})\$([A-Za-z0-9_-]{43})$/
/** The salt of hashes that are made for their time only. */
const DECOY_SALT = randomBytes(16)

/**
 * Hashes a password for a user directory: `scrypt$15$<salt>$<hash>`. A process makes few hashes at once, so that they do
 * not hold up tokens; others wait, and logins come first.
 *
 * @param cost binary logarithm of scrypt's N, 10 to 20. Default 15: about 80 ms and 32 MiB
 * @throws {RangeError} if the password is empty or longer than 1,024 bytes, or the cost is out of range
 */
export async function hashPassword(password: string, cost: number = DEFAULT_COST): Promise<string> {
  if (!isHashable(password)) throw new RangeError('A password must be 1 to 1,024 bytes long')
  optionRange('cost', cost, LEAST_COST, MOST_COST)
  const salt = randomBytes(16)
  const hash = await hashSlots.registration(() => derive(password, salt, cost))
  return `scrypt$${cost}$${salt.toString('base64url')}$${hash.toString('base64url')}`
}

/** Whether the text is a hash from {@link hashPassword}. */
export function isPasswordHash(text: unknown): text is string {
  return typeof text === 'string' && FORM.test(text)
}

/** The cost of a hash from {@link hashPassword}. */
export function costOf(hash: string): number {
  return Number(FORM.exec(hash)?.[1])
}

/**
 * Whether the password matches the hash. Always makes one hash for each cost, so that the time tells neither whether there
 * is a hash to match nor which cost it has.
 *
 * @param hash of the user, or undefined for an unknown name
 * @param costs all costs that occur in the directory, the user's among them
 * @throws {DirectoryBusyError} at once if too many logins wait
 */
export async function isPassword(
  password: string,
  hash: string | undefined,
  costs: readonly number[],
): Promise<boolean> {
  if (!isHashable(password)) return false
  const [, cost, salt, expected] = FORM.exec(hash ?? '') ?? []
  return hashSlots.login(async () => {
    let isRight = false
    for (const each of costs) {
      const isOwn = each === Number(cost)
      const key = await derive(password, isOwn ? Buffer.from(salt as string, 'base64url') : DECOY_SALT, each)
      if (isOwn) isRight = timingSafeEqual(key, Buffer.from(expected as string, 'base64url'))
    }
    return isRight
  })
}

/** Whether the password has a length that is hashed: 1 to 1,024 bytes. */
export function isHashable(password: string): boolean {
  return password.length > 0 && password.length <= LONGEST_BYTES && Buffer.byteLength(password) <= LONGEST_BYTES
}

function derive(password: string, salt: Buffer, cost: number): Promise<Buffer> {
  const N = 2 ** cost
  const options: ScryptOptions = { N, r: BLOCK, p: PARALLEL, maxmem: 256 * N * BLOCK }
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, KEY_BYTES, options, (err, key) => (err ? reject(err) : resolve(key)))
  })
}
