import { registrationError } from '../../http/help'
import { isJsonObject } from '../../http/json'
import { shown, shownNames } from '../../http/options'
import { type Client, type ClientDirectory } from './client'
import { CLIENT_FIELDS, checkLists } from './client-directory'
import type { LoginRefusal, User, UserClaims, UserDirectory } from './user'

/*
 * What an app's own directory returns is a row of a database: columns without a value are null, and ids may be numbers.
 */

/** A user directory whose answers are read as users. */
export interface KnownUsers {
  authenticate(username: string, password: string): Promise<User | LoginRefusal | undefined>
  find(id: string): Promise<User | undefined>
  /** The id of the account; undefined if the name is unknown, or the directory does not say. */
  findAccount(username: string): Promise<string | undefined>
}

/** An object without its members that are null, at any depth. */
function withoutNulls<T extends object>(object: T): T {
  const members = Object.entries(object).filter(([, value]) => value !== null)
  const inner = (value: unknown) => (isJsonObject(value) && isPlain(value) ? withoutNulls(value) : value)
  return Object.fromEntries(members.map(([name, value]) => [name, inner(value)])) as T
}

/** Claims as tokens have them: without null, dates as text, bigints as numbers or digits. Undefined for what JSON cannot say. */
export function readClaims(claims: unknown): UserClaims | undefined {
  if (!isJsonObject(claims)) return undefined
  const fitting = (_: string, value: unknown) => {
    if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
    return value ?? undefined
  }
  try {
    return JSON.parse(JSON.stringify(claims, fitting)) as UserClaims
  } catch {
    return undefined // it contains itself, or a getter fails
  }
}

/** The app that a directory found. @throws {TypeError} naming the field that is not what it must be */
export async function findClientRow(directory: ClientDirectory, clientId: string): Promise<Client | undefined> {
  const row = (await directory.findClient(clientId)) as Client | null | undefined
  if (row === null || row === undefined) return undefined
  // Read by name: an ORM's rows have getters on their class.
  const fields = CLIENT_FIELDS.map((name) => [name, row[name as keyof Client]])
  const client = withoutNulls(Object.fromEntries(fields.filter(([, value]) => value !== undefined)) as Client)
  const of = (field: string) => `findClient(${shown(clientId)}) returned an app whose ${field}`
  checkLists(client, of)
  return { ...client, clientId: textOf(client.clientId, of('clientId')), name: textOf(client.name, of('name')) }
}

/** The directory with its answers read. */
export function knownUsers(users: UserDirectory): KnownUsers {
  return {
    async authenticate(username, password) {
      const answer = (await users.authenticate(username, password)) as User | LoginRefusal | null | undefined
      if (typeof answer !== 'object' || answer === null) return undefined
      return 'refused' in answer ? answer : userOf(answer, 'authenticate()')
    },
    async find(id) {
      const row = (await users.findUser(id)) as User | null | undefined
      if (row === null || row === undefined) return undefined
      const user = userOf(row, `findUser(${shown(id)})`)
      if (user.id === id) return user
      throw registrationError(`findUser(${shown(id)}) returned the user with the id ${shown(user.id)}`)
    },
    async findAccount(username) {
      const id = (await users.findAccount?.(username)) as unknown
      return id === undefined || id === null ? undefined : textOf(id, `findAccount() returned an id that`)
    },
  }
}

function userOf(row: User, method: string): User {
  const { username, claims } = row as Partial<User>
  const id = textOf(row.id, `${method} returned a user whose id`)
  const read = readClaims(claims ?? {})
  if (read) return { ...row, id, username: username ?? id, claims: read }
  throw registrationError(
    `${method} returned a user whose claims must be an object of JSON values; received ${shownNames(claims)}`,
  )
}

/** A text, or a whole number as its digits. @param what `a user whose id` @throws {TypeError} */
export function textOf(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value
  if (Number.isSafeInteger(value) || typeof value === 'bigint') return String(value)
  throw registrationError(`${what} must be a text, or a whole number; received ${shown(value)}`)
}

/** Whether the object is data: a Date, a KeyObject or another instance of a class is left as it is. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as unknown
  return prototype === null || prototype === Object.prototype
}
