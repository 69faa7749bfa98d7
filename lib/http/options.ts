import { inspect } from 'node:util'

/** @throws {RangeError} naming the option, unless `value` is a whole number from `least` to `most` */
export function optionRange(option: string, value: unknown, least: number, most: number): void {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return
  throw new RangeError(
    `${option} must be a whole number from ${least.toLocaleString('en')} to ${most.toLocaleString('en')}; ` +
      `received ${shown(value)}`,
  )
}

/** @throws {TypeError} naming the option, unless `value` is one of the values given */
export function optionOneOf(option: string, value: unknown, values: readonly unknown[]): void {
  if (values.includes(value)) return
  throw new TypeError(`${option} must be ${values.map(shown).join(' or ')}; received ${shown(value)}`)
}

/** @throws {TypeError} naming the option, unless `value` is of the type or undefined */
export function optionType(option: string, value: unknown, type: 'function' | 'string' | 'boolean' | 'object'): void {
  if (value === undefined || (typeof value === type && value !== null)) return
  throw new TypeError(`${option} must be a${type === 'object' ? 'n' : ''} ${type}; received ${shown(value)}`)
}

/** @throws {TypeError} naming the first key of `options` that is none of those known, and what it may have meant */
export function optionNames(factory: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new TypeError(`${factory} takes an object of options; received ${shown(options)}`)
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue
    throw new TypeError(`${factory} has no option ${JSON.stringify(name)}; it has ${known.join(', ')}`)
  }
}

/** A value as an error shows it: short, on one line. Never called with a secret. */
export function shown(value: unknown): string {
  return inspect(value, { depth: 0, breakLength: Infinity, maxStringLength: 80, maxArrayLength: 3 })
}
