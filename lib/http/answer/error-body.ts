import { STATUS_CODES } from 'node:http'
import type { Dialect } from './dialect'
import { type ErrorForm, type ErrorFormat, type ErrorFormatOption, SERVICE_JSON, completeFormat } from './error-format'
import type { Complete } from '../options'

/** Error body: its `Content-Type` and its text. */
export interface ErrorBody {
  readonly type: string
  readonly text: string
}

const PROBLEM = 'application/problem+json'

/**
 * The body of an error in the form that the request's `Accept` prefers: JSON where a JSON type is named, problem details
 * where `application/problem+json` is, XML where an XML type is, and for all other requests the format's default. Never
 * 406: every client must be able to tell that it was refused.
 */
export function errorBody(
  accept: string | undefined,
  status: number,
  message: string,
  option: ErrorFormatOption | undefined,
  dialect: Dialect,
): ErrorBody {
  const format = completeFormat(option, dialect)
  switch (preferredForm(accept, format)) {
    case 'problem':
      return { type: PROBLEM, text: problemDetails(status, message) }
    case 'json':
      return { type: format.json, text: json(status, message, format.json) }
    case 'xml':
      return { type: format.xml, text: xml(status, message, format.xmlNamespace) }
  }
}

function problemDetails(status: number, message: string): string {
  const title = STATUS_CODES[status] ?? 'Error'
  const detail = message === title ? undefined : message // RFC 9457 §3.1.4: detail is for what the title does not say
  return JSON.stringify({ type: 'about:blank', title, status, detail })
}

function json(status: number, message: string, type: string): string {
  // The service's own 429 has no message, as recorded.
  const error = type === SERVICE_JSON && status === 429 ? { code: status } : { code: status, message }
  return JSON.stringify({ errors: [error] })
}

function xml(status: number, message: string, namespace: string): string {
  const error = `<error><code>${status}</code><message>${escapeXml(message)}</message></error>`
  const xmlns = namespace === '' ? '' : ` xmlns="${escapeXml(namespace)}"`
  return `<?xml version="1.0" encoding="UTF-8"?>\n<errors${xmlns}>${error}</errors>\n`
}

/** Order of forms for a wildcard, by the format's default. Forms that a range names come first. */
const WILDCARD: Readonly<Record<ErrorForm, readonly ErrorForm[]>> = {
  xml: ['xml', 'json'],
  json: ['json', 'xml'],
  problem: ['problem', 'json', 'xml'],
}

/**
 * Form with the greatest weight (RFC 9110 §12.5.1). With equal weights, named types come before wildcards, then the
 * client's order decides. Other parameters are ignored. Any JSON or XML type selects ours.
 */
function preferredForm(accept: string | undefined, format: Complete<ErrorFormat>): ErrorForm {
  const weights = new Map<ErrorForm, number>()
  const [xmlType, jsonType] = [essence(format.xml), essence(format.json)]
  let wildcard = 0
  for (const [type, weight] of mediaRanges(accept)) {
    const form = formOf(type, xmlType, jsonType)
    if (form === 'any') wildcard = Math.max(wildcard, weight)
    else if (form && weight > (weights.get(form) ?? -1)) weights.set(form, weight)
  }
  // Every browser accepts XML below HTML. That does not override the app's default.
  if (format.default !== 'xml' && isBrowser(accept)) weights.delete('xml')
  const unnamed = WILDCARD[format.default].find((form) => !weights.has(form))
  if (unnamed !== undefined) weights.set(unnamed, wildcard)
  const [best] = [...weights].sort(([, a], [, b]) => b - a)
  return best && best[1] > 0 ? best[0] : format.default
}

function* mediaRanges(accept: string | undefined): Generator<[type: string, weight: number]> {
  for (const range of accept?.toLowerCase().split(',') ?? []) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    yield [type, q === undefined ? 1 : Number(q.slice(2)) || 0]
  }
}

function formOf(type: string, xml: string, json: string): ErrorForm | 'any' | undefined {
  if (type === PROBLEM) return 'problem'
  if (type === json || /[/+]json$/.test(type)) return 'json'
  if (type === xml || /[/+]xml$/.test(type)) return 'xml'
  return type === '*/*' || type === 'application/*' ? 'any' : undefined
}

function isBrowser(accept: string | undefined): boolean {
  return accept !== undefined && /\btext\/html\b/i.test(accept)
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
  '\r': '&#13;', // a parser takes a bare one for the end of a line (XML 1.0 §2.11)
}

function escapeXml(text: string): string {
  return text
    .replace(/[&<>"'\r]/g, (c) => ENTITIES[c] as string)
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}') // XML 1.0 §2.2
}
