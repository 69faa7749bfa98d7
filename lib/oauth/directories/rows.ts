import { registrationError } from '../../http/help'
import { type JsonObject, isJsonObject } from '../../http/json'
import { shown, shownNames } from '../../http/options'
import { type Client, type ClientDirectory } from './client'
import { CLIENT_FIELDS, checkLists } from './client-directory'
import type { ClaimValue, LoginRefusal, User, UserClaims, UserDirectory, UserRow } from './user'

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

/**
 * Claims as tokens have them: without null, dates as text, bigints as numbers or digits, and standard claims in their
 * standard form. Undefined for what JSON cannot say.
 */
export function readClaims(claims: unknown): UserClaims | undefined {
  if (!isJsonObject(claims)) return undefined
  const fitting = (_: string, value: unknown) => {
    if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
    return value ?? undefined
  }
  try {
    return standardForm(JSON.parse(JSON.stringify(claims, fitting)) as Record<string, ClaimValue>, claims)
  } catch {
    return undefined // it contains itself, or a getter fails
  }
}

const BOOLEANS = new Map<unknown, boolean>([
  ...([true, 1, '1', 'true', 't'] as const).map((one) => [one, true] as const),
  ...([false, 0, '0', 'false', 'f'] as const).map((one) => [one, false] as const),
])

/**
 * OIDC Core §5.1: booleans, of databases without them; `updated_at` in seconds; `birthdate` as a day. What cannot be read so
 * is left as it is.
 *
 * @param row the same claims as the directory has them
 */
function standardForm(claims: Record<string, ClaimValue>, row: JsonObject): UserClaims {
  for (const name of ['email_verified', 'phone_number_verified']) {
    const value = BOOLEANS.get(claims[name])
    if (value !== undefined) claims[name] = value
  }
  const { updated_at: updated, birthdate } = claims
  const updatedMs = typeof updated === 'string' ? Date.parse(updated) : NaN
  if (Number.isFinite(updatedMs)) claims.updated_at = Math.floor(updatedMs / 1_000)
  if (row.birthdate instanceof Date) claims.birthdate = dayOf(row.birthdate)
  else if (typeof birthdate === 'string') claims.birthdate = birthdate.replace(/^(\d{4}-\d\d-\d\d)[T ].*$/s, '$1')
  return claims
}

/** Database drivers give a day as its midnight, some in local time and some in UTC. */
function dayOf(date: Date): string {
  const isLocal = date.getHours() === 0 && date.getMinutes() === 0
  const local = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate())
  return new Date(isLocal ? local : date).toISOString().slice(0, 10)
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
      const answer = await users.authenticate(username, password)
      if (typeof answer !== 'object' || answer === null) return undefined
      return 'refused' in answer ? answer : userOf(answer, 'authenticate()')
    },
    async find(id) {
      const row = await users.findUser(id)
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

function userOf(row: UserRow, method: string): User {
  const { username, claims } = row
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
