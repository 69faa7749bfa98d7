import { optionError } from './help'
import { type Hints, optionNames, shown } from './options'

/** One option of a factory: what it takes, and its value if it is left out. */
export interface Option<Value> {
  readonly is: (value: unknown) => boolean
  /** What it takes, as text for the error: `a whole number from 0 to 300`. */
  readonly must: string
  readonly fallback: Value
  readonly ErrorClass?: typeof RangeError | undefined
}

/** Options by their names. */
export type OptionTable = Readonly<Record<string, Option<unknown>>>

/** A table with a row for each option of a type. */
export type TableOf<Options> = { readonly [Name in Options extends object ? keyof Options : never]: Option<unknown> }

/** Values of all options of a table. */
export type OptionValues<Table extends OptionTable> = { readonly [Name in keyof Table]: Table[Name]['fallback'] }

/**
 * Reads options by their table, which must have a row for each option of their type. Those that are left out, or undefined,
 * get their defaults.
 *
 * @param factory name of the factory, or of the option that holds these: `requireBearer()`, `introspection`
 * @param hints what to write in place of options that the factory does not have, by their names
 * @throws {TypeError|RangeError} naming the first option that is unknown or wrong
 */
export function readOptions<Given, Table extends OptionTable>(
  factory: string,
  given: Given,
  table: Table & TableOf<Given>,
  hints?: Hints,
): OptionValues<Table> {
  optionNames(factory, given, Object.keys(table), hints)
  const prefix = factory.endsWith(')') ? '' : factory.endsWith(']') ? `${factory}: ` : `${factory}.`
  const values = Object.entries(table).map(([name, { is, must, fallback, ErrorClass }]) => {
    const value = (given as Record<string, unknown>)[name]
    if (value === undefined) return [name, fallback]
    if (is(value)) return [name, value]
    throw optionError(`${prefix}${name} must be ${must}; received ${shown(value)}`, ErrorClass)
  })
  return Object.fromEntries(values) as OptionValues<Table>
}

/** An option with a check of its own. */
export function option<Value>(must: string, is: (value: unknown) => boolean): Option<Value | undefined>
export function option<Value>(must: string, is: (value: unknown) => boolean, fallback: Value): Option<Value>
export function option<Value>(
  must: string,
  is: (value: unknown) => boolean,
  fallback?: Value,
): Option<Value | undefined> {
  return { must, is, fallback }
}

/** An option that is checked together with others, where it is used. */
export function checkedLater<Value>(): Option<Value | undefined>
export function checkedLater<Value>(fallback: Value): Option<Value>
export function checkedLater<Value>(fallback?: Value): Option<Value | undefined> {
  return option('', () => true, fallback)
}

/** A whole number within bounds. */
export function wholeNumber(least: number, most: number): Option<number | undefined>
export function wholeNumber(least: number, most: number, fallback: number): Option<number>
export function wholeNumber(least: number, most: number, fallback?: number): Option<number | undefined> {
  return {
    must: `a whole number from ${least.toLocaleString('en')} to ${most.toLocaleString('en')}`,
    is: (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
    fallback,
    ErrorClass: RangeError,
  }
}

/** One of several values. */
export function oneOf<Value>(values: readonly Value[]): Option<Value | undefined>
export function oneOf<Value>(values: readonly Value[], fallback: Value): Option<Value>
export function oneOf<Value>(values: readonly Value[], fallback?: Value): Option<Value | undefined> {
  return {
    must: values.map(shown).join(' or '),
    is: (value) => (values as readonly unknown[]).includes(value),
    fallback,
  }
}

/** Whether a value is a text that is not empty. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** A text that is not empty. */
export function text(): Option<string | undefined> {
  return option('a text', isText)
}

/** True or false. */
export function flag(fallback = false): Option<boolean> {
  return oneOf([true, false], fallback)
}

/** A function. */
export function functionOption<Value>(): Option<Value | undefined> {
  return option('a function', (value) => typeof value === 'function')
}
