import { optionNames, optionOneOf, optionType, shown } from './options'

/** The forms that an error body may have: the service's XML, JSON, and RFC 9457's problem details. */
export type ErrorForm = 'xml' | 'json' | 'problem'

/** Which form an error body has for whom, and its media types: `{ default: 'json', json: 'application/json' }`. */
export interface ErrorFormat {
  /**
   * The form for clients that name none of the types: `Accept: *\/*`, curl, browsers. `problem` is
   * `application/problem+json` (RFC 9457). Default `xml`.
   */
  readonly default?: ErrorForm
  /** The type of the XML form. Default `application/x-fs-v1+xml`. */
  readonly xml?: string
  /** The type of the JSON form. Default `application/x-fs-v1+json`. */
  readonly json?: string
  /** The namespace of the XML body. Default `http://familysearch.org/v1/`. */
  readonly xmlNamespace?: string
}

/**
 * What the option `errorFormat` takes. `'json'` is short for `{ default: 'json', json: 'application/json' }`, and
 * `'problem'` for `{ default: 'problem', json: 'application/json' }`.
 */
export type ErrorFormatOption = ErrorFormat | 'json' | 'problem'

/** The service's own type of JSON. */
export const SERVICE_JSON = 'application/x-fs-v1+json'

/** The option with everything filled in. */
export function completeFormat(option: ErrorFormatOption = {}): Required<ErrorFormat> {
  const format: ErrorFormat = typeof option === 'string' ? { default: option, json: 'application/json' } : option
  const { xml = 'application/x-fs-v1+xml', json = SERVICE_JSON, xmlNamespace = 'http://familysearch.org/v1/' } = format
  return { default: format.default ?? 'xml', xml, json, xmlNamespace }
}

/** @throws {TypeError} naming what is wrong with `errorFormat` */
export function checkErrorFormat(format: ErrorFormatOption | undefined): void {
  if (format === undefined || format === 'json' || format === 'problem') return
  if (typeof format === 'string') {
    throw new TypeError(`errorFormat must be 'json', 'problem' or an object; received ${shown(format)}`)
  }
  optionNames('errorFormat', format, ['default', 'xml', 'json', 'xmlNamespace'])
  if (format.default !== undefined) optionOneOf('errorFormat.default', format.default, ['xml', 'json', 'problem'])
  for (const name of ['xml', 'json'] as const) {
    const type: unknown = format[name]
    if (type === undefined || (typeof type === 'string' && MEDIA_TYPE.test(type))) continue
    throw new TypeError(`errorFormat.${name} must be a media type; received ${shown(type)}`)
  }
  optionType('errorFormat.xmlNamespace', format.xmlNamespace, 'string')
}

/** RFC 9110 §8.3.1, with parameters as they may be sent in a field. */
const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+( *;[\x20-\x7e]*)?$/
