import { type ScryptOptions, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { optionError, usageError } from '../../http/help'
import { optionRange } from '../../http/options'
import { hashSlots } from './hash-slots'

/** Work of one hash: 2^cost KiB of memory. 17 takes about 300 ms and 128 MiB: OWASP's Password Storage Cheat Sheet, 2025. */
export const DEFAULT_COST = 17
/** Below 10, guessing is too cheap; above 20, one hash takes more than a gigabyte. */
export const [LEAST_COST, MOST_COST] = [10, 20]
const BLOCK = 8
const PARALLEL = 1
const KEY_BYTES = 32
/** A longer password is refused without hashing it. */
const LONGEST_BYTES = 1_024

/** The PHC string format, with base64 without padding. */
const PHC = /^\$scrypt\$ln=(\d{1,2}),r=8,p=1\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/
/** The beginnings of password hashes: PHC strings and crypt(3). */
const ANY_HASH = /^\$(scrypt|argon2(id|i|d)|pbkdf2(-\w+)?|2[abxy]|bcrypt(-\w+)?|[156y7])\$/
/** The salt of hashes whose result is discarded. */
const DECOY_SALT = randomBytes(16)

/**
 * Hashes a password for a user directory, as a PHC string: `$scrypt$ln=17,r=8,p=1$<salt>$<hash>`. A process makes few hashes
 * at once, so that they do not hold up tokens; others wait, and logins come first.
 *
 * @param cost binary logarithm of scrypt's N, 10 to 20. Default 17: about 300 ms and 128 MiB
 * @throws {RangeError} if the password is empty or longer than 1,024 bytes, or the cost is out of range
 */
export async function hashPassword(password: string, cost: number = DEFAULT_COST): Promise<string> {
  if (!isHashable(password)) throw usageError('A password must be 1 to 1,024 bytes long', RangeError)
  optionRange('cost', cost, LEAST_COST, MOST_COST)
  const salt = randomBytes(16)
  const hash = await hashSlots.registration(() => derive(password, salt, cost))
  return `$scrypt$ln=${cost},r=${BLOCK},p=${PARALLEL}$${unpadded(salt)}$${unpadded(hash)}`
}

/**
 * Whether the password matches a hash of {@link hashPassword}, for a directory of your own. Without a hash it takes as
 * long, so response times do not reveal which names exist.
 *
 * @param hash of the user, or undefined for an unknown name
 * @param cost that of your hashes, for unknown names. Default 17
 * @throws {TypeError} if the hash is not one of `hashPassword()`; {DirectoryBusyError} at once if too many logins wait
 */
export async function verifyPassword(
  password: string,
  hash: string | undefined,
  cost: number = DEFAULT_COST,
): Promise<boolean> {
  optionRange('cost', cost, LEAST_COST, MOST_COST)
  if (hash !== undefined && !isPasswordHash(hash)) throw optionError('hash must be one that hashPassword() made')
  return isPassword(password, hash, [hash === undefined ? cost : costOf(hash)])
}

/** Whether the text is a hash from {@link hashPassword}. */
export function isPasswordHash(text: unknown): text is string {
  return typeof text === 'string' && partsOf(text) !== undefined
}

/** Whether the text looks like a password hash of any kind, and so is no plain password or secret. */
export function looksHashed(text: string): boolean {
  return ANY_HASH.test(text)
}

/** The cost of a hash from {@link hashPassword}. */
export function costOf(hash: string): number {
  return Number(partsOf(hash)?.cost)
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
  const own = partsOf(hash ?? '')
  return hashSlots.login(async () => {
    let isRight = false
    for (const each of costs) {
      const isOwn = each === own?.cost
      const key = await derive(password, isOwn ? own.salt : DECOY_SALT, each)
      if (isOwn) isRight = timingSafeEqual(key, own.key)
    }
    return isRight
  })
}

function partsOf(hash: string): { cost: number; salt: Buffer; key: Buffer } | undefined {
  const [, cost, salt = '', key = ''] = PHC.exec(hash) ?? []
  if (Number(cost ?? 0) < LEAST_COST || Number(cost) > MOST_COST) return undefined
  return { cost: Number(cost), salt: Buffer.from(salt, 'base64'), key: Buffer.from(key, 'base64') }
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').slice(0, Math.ceil((bytes.length * 4) / 3))
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
