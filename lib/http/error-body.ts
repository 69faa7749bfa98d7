import { STATUS_CODES } from 'node:http'
import { optionNames, optionType, shown } from './options'

/** The media types of error bodies, for services that have their own: `{ json: 'application/json' }`. */
export interface ErrorFormat {
  /** Sent unless the client asks for JSON. Default `application/x-fs-v1+xml`. */
  readonly xml?: string
  /** Sent to a client whose `Accept` names a JSON type. Default `application/x-fs-v1+json`. */
  readonly json?: string
  /** The namespace of the XML body. Default `http://familysearch.org/v1/`. */
  readonly xmlNamespace?: string
}

/** An error as it goes on the wire: its `Content-Type` and its text. */
export interface ErrorBody {
  readonly type: string
  readonly text: string
}

const PROBLEM = 'application/problem+json'

/**
 * The body of an error in the form that the request's `Accept` prefers: the service's XML by default, its JSON where a
 * JSON type is named, RFC 9457 where `application/problem+json` is. Never 406: an error must be heard.
 */
export function errorBody(
  accept: string | undefined,
  status: number,
  message: string,
  format: ErrorFormat = USUAL,
): ErrorBody {
  const known = last
  if (known?.message === message && known.status === status && known.accept === accept && known.format === format) {
    return known.body
  }
  const body = makeBody(accept, status, message, format)
  last = { accept, status, message, format, body }
  return body
}

const USUAL: ErrorFormat = {}

/** A client that is refused again and again mostly asks as it did before. */
let last:
  | {
      readonly accept: string | undefined
      readonly status: number
      readonly message: string
      readonly format: ErrorFormat
      readonly body: ErrorBody
    }
  | undefined

function makeBody(accept: string | undefined, status: number, message: string, format: ErrorFormat): ErrorBody {
  const { xml = 'application/x-fs-v1+xml', json = 'application/x-fs-v1+json' } = format
  const title = STATUS_CODES[status] ?? 'Error'
  const said = message === title ? undefined : message // what the code says already is not said again
  switch (preferred(accept, xml, json)) {
    case 'problem': {
      const text = JSON.stringify({ type: 'about:blank', title, status, detail: said })
      return { type: PROBLEM, text }
    }
    case 'json':
      return { type: json, text: JSON.stringify({ errors: [{ code: status, message: said }] }) }
    case 'xml': {
      const { xmlNamespace = 'http://familysearch.org/v1/' } = format
      const error = `<error><code>${status}</code><message>${escapeXml(message)}</message></error>`
      const text = `<?xml version="1.0" encoding="UTF-8"?>\n<errors xmlns="${escapeXml(xmlNamespace)}">${error}</errors>\n`
      return { type: xml, text }
    }
  }
}

/** @throws {TypeError} naming what is wrong with `errorFormat` */
export function checkErrorFormat(format: ErrorFormat | undefined): void {
  if (format === undefined) return
  optionNames('errorFormat', format, ['xml', 'json', 'xmlNamespace'])
  for (const name of ['xml', 'json'] as const) {
    const type: unknown = format[name]
    if (type === undefined || (typeof type === 'string' && MEDIA_TYPE.test(type))) continue
    throw new TypeError(`errorFormat.${name} must be a media type; received ${shown(type)}`)
  }
  optionType('errorFormat.xmlNamespace', format.xmlNamespace, 'string')
}

/** RFC 9110 §8.3.1, with parameters as they may be sent in a field. */
const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+( *;[\x20-\x7e]*)?$/

type Form = 'xml' | 'json' | 'problem'

/**
 * The form of the greatest weight (RFC 9110 §12.5.1), then what is named before what a wildcard takes in, then the
 * client's order. Parameters other than the weight are not looked at, and any JSON or XML type stands for ours.
 */
function preferred(accept: string | undefined, xml: string, json: string): Form {
  const weights = new Map<Form, number>()
  let wildcard = 0
  for (const range of accept?.toLowerCase().split(',') ?? []) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    const weight = q === undefined ? 1 : Number(q.slice(2)) || 0
    const form = formOf(type, essence(xml), essence(json))
    if (form === 'any') wildcard = Math.max(wildcard, weight)
    else if (form && weight > (weights.get(form) ?? -1)) weights.set(form, weight)
  }
  for (const form of ['xml', 'json'] as const) {
    if (weights.has(form)) continue
    weights.set(form, wildcard)
    break
  }
  const [best] = [...weights].sort(([, a], [, b]) => b - a)
  return best && best[1] > 0 ? best[0] : 'xml'
}

function formOf(type: string, xml: string, json: string): Form | 'any' | undefined {
  if (type === PROBLEM) return 'problem'
  if (type === json || /[/+]json$/.test(type)) return 'json'
  if (type === xml || /[/+]xml$/.test(type)) return 'xml'
  return type === '*/*' || type === 'application/*' ? 'any' : undefined
}

/** A media type without its parameters. */
function essence(type: string): string {
  return (type.split(';')[0] as string).trim().toLowerCase()
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
  '\r': '&#13;', // a parser takes a bare one for a line's end (XML 1.0 §2.11)
}

function escapeXml(text: string): string {
  return text
    .replace(/[&<>"'\r]/g, (c) => ENTITIES[c] as string)
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}') // XML 1.0 §2.2
}
