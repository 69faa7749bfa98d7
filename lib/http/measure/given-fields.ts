import type { ServerResponse } from 'node:http'

/** Target of response header fields. */
export type HeaderFields = Pick<ServerResponse, 'setHeader' | 'statusCode'>

type Field = [name: string, value: string]

/**
 * Adds our header fields to those that an app passes to `res.writeHead()`, on a response without other fields.
 *
 * Node sends such fields unchanged, with repeated names and any spelling, if nothing was set with `res.setHeader()`.
 * So ours are passed in the same form.
 */
export class GivenFields implements HeaderFields {
  readonly #args: readonly unknown[]
  readonly #at: number
  readonly #ours: Field[] = []

  private constructor(
    readonly statusCode: number,
    args: readonly unknown[],
    at: number,
  ) {
    this.#args = args
    this.#at = at
  }

  /** Undefined if the app passes no fields, or the response has others: then `setHeader()` works. */
  static of(res: ServerResponse, args: readonly unknown[]): GivenFields | undefined {
    const at = typeof args[1] === 'string' || isObject(args[2]) ? 2 : 1
    if (!isObject(args[at]) || res.getHeaderNames?.().length !== 0) return undefined
    return new GivenFields(res.statusCode, args, at)
  }

  setHeader(name: string, value: number | string | readonly string[]): ServerResponse {
    this.#ours.push([name, String(value)])
    return this as never
  }

  /** The arguments with our fields. The app's own value of a field wins. */
  arguments(): unknown[] {
    const { [this.#at]: given } = this.#args
    const names = new Set(fieldsOf(given as object).map(([name]) => String(name).toLowerCase()))
    const ours = this.#ours.filter(([name]) => !names.has(name.toLowerCase()))
    return this.#args.with(this.#at, joined(given as object, ours))
  }

  /** The app's value of a field. */
  get(name: string): unknown {
    const { [this.#at]: given } = this.#args
    return fieldsOf(given as object).find(([each]) => String(each).toLowerCase() === name)?.[1]
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/** In the same form. Node refuses a flat list of an odd length. */
function joined(given: object, ours: readonly Field[]): object {
  if (!Array.isArray(given)) return { ...given, ...Object.fromEntries(ours) }
  const list = given as unknown[]
  if (Array.isArray(list[0])) return [...list, ...ours]
  return list.length % 2 === 0 ? [...list, ...ours.flat()] : list
}

function fieldsOf(given: object): (readonly [unknown, unknown])[] {
  if (!Array.isArray(given)) return Object.entries(given)
  if (Array.isArray(given[0])) return given as [unknown, unknown][]
  const flat = given as unknown[]
  return Array.from({ length: flat.length >> 1 }, (_, i) => [flat[2 * i], flat[2 * i + 1]])
}
