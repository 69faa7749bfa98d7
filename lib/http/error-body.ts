import { STATUS_CODES } from 'node:http'
import type { Request } from 'express'

/** The media types of error bodies, for services that have their own. */
export interface ErrorFormat {
  /** Sent unless the client asks for JSON. Default `application/x-fs-v1+xml`. */
  readonly xml?: string
  /** Sent to a client whose `Accept` names a JSON type. Default `application/x-fs-v1+json`. */
  readonly json?: string
  /** The namespace of the XML body. Default `http://familysearch.org/v1/`. */
  readonly xmlNamespace?: string
}

export interface ErrorBody {
  readonly type: string
  readonly text: string
}

const PROBLEM = 'application/problem+json'

/**
 * The body of an error in the form that the request's `Accept` prefers: the service's XML by default, its JSON where a
 * JSON type is named, RFC 9457 where `application/problem+json` is. Never 406: an error must be heard.
 */
export function errorBody(req: Request, status: number, message: string, format: ErrorFormat = {}): ErrorBody {
  const { xml = 'application/x-fs-v1+xml', json = 'application/x-fs-v1+json' } = format
  const title = STATUS_CODES[status] ?? 'Error'
  const said = message === title ? undefined : message // what the code says already is not said again
  switch (preferred(req)) {
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

function preferred(req: Request): 'xml' | 'json' | 'problem' {
  const accept = req.headers.accept
  if (accept === undefined || accept === '*/*') return 'xml'
  for (const type of req.accepts()) {
    if (type === PROBLEM) return 'problem'
    if (/[/+]json$/.test(type)) return 'json'
    if (/[/+]xml$|\*$/.test(type)) return 'xml'
  }
  return 'xml'
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

function escapeXml(text: string): string {
  return text
    .replace(/[&<>"']/g, (c) => ENTITIES[c] as string)
    .replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}') // XML 1.0 §2.2
}
