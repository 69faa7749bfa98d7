import { type JsonObject, isJsonObject } from '../../http/json'

/** Name of a claim, or path to a nested one: `'permissions'`, `['realm_access', 'roles']`. */
export type ClaimPath = string | readonly string[]

/** Whether a value is a {@link ClaimPath}. */
export function isClaimPath(value: unknown): value is ClaimPath {
  if (typeof value === 'string') return value !== ''
  return Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === 'string')
}

/** Value of a claim; undefined if it is absent. Of a list within a path, the values of all its members. */
export function claimAt(claims: JsonObject, path: ClaimPath): unknown {
  let value: unknown = claims
  for (const [i, name] of (typeof path === 'string' ? [path] : path).entries()) {
    if (Array.isArray(value))
      return value.map((one: unknown) => (isJsonObject(one) ? claimAt(one, path.slice(i)) : undefined))
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as JsonObject)[name]
  }
  return value
}
