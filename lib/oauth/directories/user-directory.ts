import { registrationError } from '../../http/help'
import { optionNames, optionRange, optionType, shown, shownNames } from '../../http/options'
import { USER_HINTS } from '../options-of-other-servers'
import {
  DEFAULT_COST,
  LEAST_COST,
  MOST_COST,
  costOf,
  hashPassword,
  isHashable,
  isPassword,
  isPasswordHash,
  looksHashed,
} from './password'
import { type User, foldedUsername } from './user'

/** A user to register, with a password or its hash. */
export interface UserRegistration extends User {
  /** Plain, 1 to 1,024 bytes: for demos and tests. Hashed at startup; the plain text is not kept. */
  readonly password?: string | undefined
  /** Made by `hashPassword()`: `$scrypt$ln=17,r=8,p=1$…`. Use this or `password`. */
  readonly passwordHash?: string | undefined
}

/** Options of {@link userDirectory}. */
export interface UserDirectoryOptions {
  /** Binary logarithm of scrypt's N for plain passwords, 10 to 20. Default 17: about 300 ms and 128 MiB. */
  readonly cost?: number | undefined
}

/**
 * Keeps users in memory, for demos, tests and small services. Names are case-insensitive.
 *
 * A login takes as long for an unknown name as for a wrong password: it makes one hash of each cost that occurs among the
 * users. So give all hashes one cost. Too many logins at once reject with a `DirectoryBusyError`.
 *
 * @example userDirectory([{ id: 'KWC6-X7D', username: 'ada', password: 'analytical', claims: { givenName: 'Ada' } }])
 * @throws {TypeError} naming the user and the field, if a registration is invalid or repeated
 */
export function userDirectory(
  registrations: readonly UserRegistration[],
  options: UserDirectoryOptions = {},
): {
  /** The user of this name and password, or `undefined`. */
  authenticate(username: string, password: string): Promise<User | undefined>
  /** The user of this id, or `undefined`. */
  findUser(id: string): Promise<User | undefined>
  /** The id of the user of this name, or `undefined`. */
  findAccount(username: string): Promise<string | undefined>
} {
  if (!Array.isArray(registrations)) {
    throw registrationError(`userDirectory takes an array of users; received ${shownNames(registrations)}`)
  }
  optionNames('userDirectory', options, ['cost'])
  const { cost = DEFAULT_COST } = options
  optionRange('cost', cost, LEAST_COST, MOST_COST)
  const byId = new Map<string, User>()
  const hashCosts = new Set<number>()
  const byName = new Map<string, { user: User; hash: Promise<string> }>()
  for (const registration of registrations as readonly UserRegistration[]) {
    const user = checkedUser(registration)
    const name = foldedUsername(user.username)
    if (byId.has(user.id) || byName.has(name))
      throw registrationError(`userDirectory: ${user.username} is registered twice`)
    byId.set(user.id, user)
    const { password, passwordHash } = registration
    hashCosts.add(passwordHash === undefined ? cost : costOf(passwordHash))
    const hash = passwordHash === undefined ? hashPassword(password as string, cost) : Promise.resolve(passwordHash)
    hash.catch(() => undefined) // reported by authenticate(), which awaits it
    byName.set(name, { user, hash })
  }
  const costs = hashCosts.size > 0 ? [...hashCosts] : [cost]

  return {
    async authenticate(username, password) {
      const known = byName.get(foldedUsername(username))
      const isRight = await isPassword(password, await known?.hash, costs)
      return isRight ? known?.user : undefined
    },
    findUser: (id) => Promise.resolve(byId.get(id)),
    findAccount: (username) => Promise.resolve(byName.get(foldedUsername(username))?.user.id),
  }
}

const FIELDS = ['id', 'username', 'password', 'passwordHash', 'claims']

function checkedUser(registration: UserRegistration): User {
  optionNames('a user in userDirectory', registration, FIELDS, USER_HINTS)
  const { id, username, password, passwordHash, claims } = registration
  if (typeof id !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(id)) {
    throw registrationError(`id must be 1 to 255 printable ASCII characters without a space; received ${shown(id)}`)
  }
  if (typeof username !== 'string' || username.trim() === '' || username.length > 256) {
    throw registrationError(`username of ${id} must be 1 to 256 characters`)
  }
  if ((password === undefined) === (passwordHash === undefined)) {
    throw registrationError(`${username} must have either a password or a passwordHash`)
  }
  if (password !== undefined && (typeof password !== 'string' || !isHashable(password))) {
    throw registrationError(`password of ${username} must be 1 to 1,024 bytes`)
  }
  if (password !== undefined && looksHashed(password)) {
    throw registrationError(
      `password of ${username} is a hash, and password takes the plain text: use passwordHash for what hashPassword() made`,
    )
  }
  if (passwordHash !== undefined && !isPasswordHash(passwordHash)) {
    throw registrationError(
      `passwordHash of ${username} must be one that hashPassword() made; for others, write a UserDirectory`,
    )
  }
  optionType(`claims of ${username}`, claims, 'object')
  return { id, username, ...(claims && { claims: { ...claims } }) }
}
