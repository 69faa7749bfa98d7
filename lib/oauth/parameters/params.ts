import { narrowJson } from '../../http/json'
import { type OAuthError, invalidRequest } from '../oauth-error'

/** Parameters as received: `{ client_id: 'web', resource: ['https://a.test', 'https://b.test'] }`. */
export type RawParams = Readonly<Record<string, string | readonly string[]>>

/** Parameters of one request, repeated ones counted each time. No request of this server needs more than 40. */
const MOST_PAIRS = 200

/**
 * The parameters of a form or a query. An empty value counts as absent (RFC 6749 §3.1). Repeated parameters are recorded,
 * so that a caller can refuse them.
 */
export class Params {
  readonly #values = new Map<string, string[]>()
  readonly #repeated = new Set<string>()
  #pairs = 0

  /**
   * @param encoded `application/x-www-form-urlencoded`: `a=1&b=two+words`
   * @throws {OAuthError} invalid_request if the percent-encoding is invalid or does not encode UTF-8, or of too many pairs
   */
  static parse(encoded: string): Params {
    const params = new Params()
    const pairs = encoded.split('&', MOST_PAIRS + 1)
    if (pairs.length > MOST_PAIRS) throw tooMany()
    for (const pair of pairs) {
      if (pair === '') continue
      const at = pair.indexOf('=')
      params.#add(decode(at < 0 ? pair : pair.slice(0, at)), at < 0 ? '' : decode(pair.slice(at + 1)))
    }
    return params
  }

  /** The parameters of a body that the app's body parser has read. A value that is not a string counts as repeated. */
  static of(body: Readonly<Record<string, unknown>>): Params {
    const params = new Params()
    for (const [name, value] of Object.entries(body)) {
      const values: readonly unknown[] = Array.isArray(value) ? value : [value]
      for (const one of values) params.#add(name, typeof one === 'string' ? one : '')
      if (!values.every((one) => typeof one === 'string')) params.#repeated.add(name)
    }
    return params
  }

  get names(): readonly string[] {
    return [...this.#values.keys()]
  }

  /** The value, or undefined if it is absent or empty. */
  get(name: string): string | undefined {
    return this.#values.get(name)?.[0] || undefined
  }

  /** All values of a parameter that may be repeated, such as `resource` (RFC 8707 §2), without empty ones. */
  all(name: string): readonly string[] {
    return this.#values.get(name)?.filter((value) => value !== '') ?? []
  }

  /** The value of a required parameter. @throws {OAuthError} invalid_request if it is absent */
  need(name: string): string {
    const value = this.get(name)
    if (value === undefined) throw invalidRequest(`The parameter ${name} is missing.`)
    return value
  }

  /** Whether the parameter is repeated, which RFC 6749 §3.1 and §3.2 forbid. */
  repeats(name: string): boolean {
    return this.#repeated.has(name)
  }

  /** @throws {OAuthError} invalid_request if any of these parameters is repeated */
  refuseRepeated(names: Iterable<string>): void {
    for (const name of names) {
      if (this.#repeated.has(name)) throw invalidRequest(`The parameter ${name} is repeated.`)
    }
  }

  /** @throws {OAuthError} invalid_request if the values of these parameters, as they are stored, are longer than `mostBytes` */
  refuseLonger(names: Iterable<string>, mostBytes: number): void {
    const values = [...names].map((name) => this.#values.get(name) ?? '')
    if (narrowJson(values).length > mostBytes)
      throw invalidRequest(`The parameters are longer than ${mostBytes} bytes.`)
  }

  /** The parameters as a query, repeated ones included. */
  toString(): string {
    return [...this.#values]
      .flatMap(([name, values]) => values.map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`))
      .join('&')
  }

  #add(name: string, value: string): void {
    if (++this.#pairs > MOST_PAIRS) throw tooMany()
    // Of a body that the app's parser has read: no UTF-8 can say half a character, and no URL can hold it.
    if (/\p{Cs}/u.test(name + value)) throw invalidRequest('The parameters are not Unicode text.')
    // `code[]=x` and `code[a]=x` are another parser's ways of repeating `code`.
    const bracket = name.indexOf('[')
    if (bracket > 0) return void this.#repeated.add(name.slice(0, bracket))
    const before = this.#values.get(name)
    if (!before) return void this.#values.set(name, [value])
    this.#repeated.add(name)
    before.push(value)
  }
}

function tooMany(): OAuthError {
  return invalidRequest(`The request has more than ${MOST_PAIRS} parameters.`)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw invalidRequest('The percent-encoding is invalid or does not encode UTF-8.')
  }
}
