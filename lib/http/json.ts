import { TextDecoder } from 'node:util'

/** What a JSON object holds. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Nobody's claims are nested deeper; what is, was made to exhaust somebody's stack. */
const DEEPEST = 32

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads a JSON object as a token may hold one, frozen all the way down, or says undefined: for anything but an object,
 * for invalid UTF-8, a byte order mark, a member named twice (RFC 7519 §4 and RFC 7515 §4 let a reader refuse it, and
 * two readers would differ on which one counts), a member `__proto__`, and more than 32 levels.
 */
export function readJsonObject(bytes: Uint8Array): JsonObject | undefined {
  let text: string
  let value: unknown
  try {
    text = utf8.decode(bytes)
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isJsonObject(value)) return undefined
  const members = freeze(value)
  return members !== undefined && members === membersWritten(text) ? value : undefined
}

/** Tells an object from the other JSON values. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Freezes all of it and counts the members of its objects; undefined where it is too deep or has a `__proto__`. */
function freeze(root: object): number | undefined {
  let members = 0
  let level: object[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === DEEPEST) return undefined
    const below: object[] = []
    for (const value of level) {
      if (!Array.isArray(value)) {
        if (Object.hasOwn(value, '__proto__')) return undefined
        members += Object.keys(value).length
      }
      for (const child of Object.values(value) as unknown[]) {
        if (typeof child === 'object' && child !== null) below.push(child)
      }
      Object.freeze(value)
    }
    level = below
  }
  return members
}

/** In valid JSON a colon outside a string stands once for each member, told twice or not. */
function membersWritten(json: string): number {
  let members = 0
  let isInText = false
  for (let i = 0; i < json.length; i++) {
    const char = json[i]
    if (char === '"') isInText = !isInText
    else if (isInText && char === '\\') i++
    else if (!isInText && char === ':') members++
  }
  return members
}

/** JSON of a value in characters of Latin-1: each takes one byte in memory. */
export function narrowJson(value: unknown): string {
  const escape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  const text = JSON.stringify(value).replace(/[^\0-\xff]/g, escape)
  return Buffer.from(text, 'latin1').toString('latin1') // else it may take two bytes all the same
}
