import { registrationError } from '../../http/help'
import { type JsonObject, isJsonObject } from '../../http/json'
import { shown, shownNames } from '../../http/options'
import type { Client, ClientDirectory, ClientRow } from './client'
import { CLIENT_FIELDS, checkLists } from './client-directory'
import type { LoginRefusal, User, UserClaims, UserDirectory, UserRow } from './user'

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
  try {
    const members = isJsonObject(claims) ? membersOf(claims) : undefined
    if (!isJsonObject(members)) return undefined
    const standard = Object.entries(members).map(([name, value]) => [name, STANDARD_FORMS.get(name)?.(value) ?? value])
    return JSON.parse(JSON.stringify(Object.fromEntries(standard), fitting)) as UserClaims
  } catch {
    return undefined // it contains itself, or a getter fails
  }
}

/** A value as JSON has it. `this` is the object that holds it. */
function fitting(this: JsonObject, name: string, value: unknown): unknown {
  const given = this[name]
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (given instanceof Uint8Array) return Buffer.from(given).toString('base64')
  if (value instanceof Set) return [...(value as Set<unknown>)]
  return isJsonObject(value) ? membersOf(value) : (value ?? undefined)
}

/** What an object says of itself: by `toJSON()`, or with the getters of its class. */
function membersOf(object: JsonObject): unknown {
  if (typeof object.toJSON === 'function') return (object.toJSON as () => unknown)()
  if (object instanceof Map) return Object.fromEntries(object as Map<string, unknown>)
  if (isPlain(object)) return object
  const columns = columnsOf(object)
  return Object.fromEntries(Object.getOwnPropertyNames(columns).map((name) => [name, columns[name]]))
}

/**
 * The columns of a row by name, also those that are getters of its class, as ORMs make them. A getter runs when its column is
 * asked for, with the row as `this`.
 *
 * @param known columns in place of the row's own
 */
function columnsOf<Known extends object>(row: object, known?: Known): Known & JsonObject {
  const columns = { ...known }
  const last = Object.prototype as object
  for (let one = row; one !== null && one !== last; one = Object.getPrototypeOf(one) as object) {
    for (const [name, column] of Object.entries(Object.getOwnPropertyDescriptors(one))) {
      const isColumn = one === row ? column.enumerable : 'get' in column
      if (!isColumn || Object.hasOwn(columns, name)) continue
      const value = () => (row as JsonObject)[name] ?? undefined
      Object.defineProperty(columns, name, { get: value, enumerable: one === row, configurable: true })
    }
  }
  return columns as Known & JsonObject
}

/**
 * OIDC Core §5.1: booleans, of databases without them; `updated_at` in seconds; `birthdate` as a day. Each is undefined for a
 * value that it cannot read, which then stays as it is.
 */
const STANDARD_FORMS = new Map<string, (value: unknown) => unknown>([
  ['email_verified', booleanOf],
  ['phone_number_verified', booleanOf],
  ['updated_at', secondsOf],
  ['birthdate', dayOf],
])

const [YES, NO] = [new Set(['true', 't', 'yes', 'y', '1']), new Set(['false', 'f', 'no', 'n', '0'])]

function booleanOf(value: unknown): boolean | undefined {
  if (value instanceof Date) return isValid(value) // when it was verified
  const bit: unknown = value instanceof Uint8Array && value.length === 1 ? value[0] : value // MySQL's BIT(1)
  const text = isScalar(bit) ? String(bit).trim().toLowerCase() : ''
  return YES.has(text) || (NO.has(text) ? false : undefined)
}

/** Milliseconds are numbers that no seconds of the next thousand years are. */
const LEAST_MS = 1e11

function secondsOf(value: unknown): number | undefined {
  const said = saidBy(value)
  if (said instanceof Date) return isValid(said) ? Math.floor(said.getTime() / 1_000) : undefined
  if (!isScalar(said)) return undefined
  const text = String(said).trim()
  // SQL's text of a time has no zone: databases keep UTC.
  const isBare = /^\d{4}-\d\d-\d\d[T ][\d:.]+$/.test(text)
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN
  if (Number.isFinite(number)) return Math.floor(number < LEAST_MS ? number : number / 1_000)
  const ms = typeof said === 'string' ? Date.parse(isBare ? `${text.replace(' ', 'T')}Z` : text) : NaN
  return Number.isFinite(ms) ? Math.floor(ms / 1_000) : undefined
}

/** Database drivers give a day as its midnight, some in local time and some in UTC. */
function dayOf(value: unknown): string | undefined {
  const said = saidBy(value)
  if (typeof said === 'string') return /^\d{4}-\d\d-\d\d(?=[T ])/.exec(said)?.[0]
  if (!(said instanceof Date) || !isValid(said)) return undefined
  const isLocal = said.getHours() === 0 && said.getMinutes() === 0
  const local = Date.UTC(said.getFullYear(), said.getMonth(), said.getDate())
  return new Date(isLocal ? local : said).toISOString().slice(0, 10)
}

/** The text of a date of Luxon, Day.js or Temporal; any other value as it is. */
function saidBy(value: unknown): unknown {
  return value instanceof Date || !isJsonObject(value) ? value : membersOf(value)
}

function isScalar(value: unknown): value is string | number | bigint | boolean {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value)
}

function isValid(date: Date): boolean {
  return Number.isFinite(date.getTime())
}

/** The app that a directory found. @throws {TypeError} naming the field that is not what it must be */
export async function findClientRow(directory: ClientDirectory, clientId: string): Promise<Client | undefined> {
  const row = await directory.findClient(clientId)
  if (row === null || row === undefined) return undefined
  // Read by name: an ORM's rows have getters on their class.
  const fields = CLIENT_FIELDS.map((name) => [name, row[name as keyof ClientRow]])
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
  const name = textOf(username ?? id, `${method} returned a user whose username`)
  const read = readClaims(claims ?? {})
  if (read) return columnsOf(row, { id, username: name, claims: read })
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
