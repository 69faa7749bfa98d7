import type { Dialect } from './dialect'
import { optionError } from '../help'
import { type Complete, optionNames, optionOneOf, optionType, shown } from '../options'

/** The forms that an error body may have: the service's XML, JSON, and RFC 9457's problem details. */
export type ErrorForm = 'xml' | 'json' | 'problem'

/** Form of error bodies and their media types: `{ default: 'json', json: 'application/json' }`. */
export interface ErrorFormat {
  /**
   * Form for clients whose `Accept` names none of the types: `*\/*`, curl, browsers. `problem` is
   * `application/problem+json` (RFC 9457). Default `xml`; in the dialect `standard` `json`.
   */
  readonly default?: 'xml' | 'json' | 'problem' | undefined
  /** Media type of the XML form. Default `application/x-fs-v1+xml`; in the dialect `standard` `application/xml`. */
  readonly xml?: string | undefined
  /** Media type of the JSON form. Default `application/x-fs-v1+json`; in the dialect `standard` `application/json`. */
  readonly json?: string | undefined
  /** XML namespace, `''` for none. Default `http://familysearch.org/v1/`; in the dialect `standard` none. */
  readonly xmlNamespace?: string | undefined
}

/**
 * What the option `errorFormat` takes. `'json'` is short for `{ default: 'json', json: 'application/json' }`, and
 * `'problem'` for `{ default: 'problem', json: 'application/json' }`.
 */
export type ErrorFormatOption = ErrorFormat | 'json' | 'problem'

/** The service's own type of JSON. */
export const SERVICE_JSON = 'application/x-fs-v1+json'

/** Error format of each dialect. */
const FORMATS: Readonly<Record<Dialect, Complete<ErrorFormat>>> = {
  familysearch: {
    default: 'xml',
    xml: 'application/x-fs-v1+xml',
    json: SERVICE_JSON,
    xmlNamespace: 'http://familysearch.org/v1/',
  },
  standard: { default: 'json', xml: 'application/xml', json: 'application/json', xmlNamespace: '' },
}

/** The option `errorFormat`, completed with the dialect's format. */
export function completeFormat(option: ErrorFormatOption = {}, dialect: Dialect): Complete<ErrorFormat> {
  const format: ErrorFormat = typeof option === 'string' ? { default: option, json: 'application/json' } : option
  const defaults = FORMATS[dialect]
  return {
    default: format.default ?? defaults.default,
    xml: format.xml ?? defaults.xml,
    json: format.json ?? defaults.json,
    xmlNamespace: format.xmlNamespace ?? defaults.xmlNamespace,
  }
}

/** @throws {TypeError} naming what is wrong with `errorFormat` */
export function checkErrorFormat(format: ErrorFormatOption | undefined): void {
  if (format === undefined || format === 'json' || format === 'problem') return
  if (typeof format === 'string') {
    throw optionError(`errorFormat must be 'json', 'problem' or an object; received ${shown(format)}`)
  }
  optionNames('errorFormat', format, ['default', 'xml', 'json', 'xmlNamespace'])
  if (format.default !== undefined) optionOneOf('errorFormat.default', format.default, ['xml', 'json', 'problem'])
  for (const name of ['xml', 'json'] as const) {
    const type: unknown = format[name]
    if (type === undefined || (typeof type === 'string' && MEDIA_TYPE.test(type))) continue
    throw optionError(`errorFormat.${name} must be a media type; received ${shown(type)}`)
  }
  optionType('errorFormat.xmlNamespace', format.xmlNamespace, 'string')
}

/** RFC 9110 §8.3.1, with parameters as they may be sent in a field. */
const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+( *;[\x20-\x7e]*)?$/
