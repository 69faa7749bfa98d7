import { TextDecoder } from 'node:util'
import type { Request } from 'express'
import { type JsonObject, isJsonObject, readJsonObject } from '../../http/json'
import { type OAuthError, invalidRequest } from '../oauth-error'
import { Params } from './params'

/** Bytes of a body. No form of this server needs more. */
const LONGEST_BODY = 65_536
/** A longer body is read and dropped up to here, so that the client gets its answer. Then the connection is closed. */
const LONGEST_DROPPED = 16 * 1_048_576

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The parameters of the query, read from the URL itself, not from the app's query parser. @throws {OAuthError} */
export function queryOf(req: Request): Params {
  const at = req.url.indexOf('?')
  return Params.parse(at < 0 ? '' : req.url.slice(at + 1))
}

/** The parameters of a form or, where nothing is posted, of the query. @throws {OAuthError} as {@link formOf} */
export async function paramsOf(req: Request): Promise<Params> {
  return req.method === 'POST' ? formOf(req) : queryOf(req)
}

/**
 * The parameters of a form-encoded body, also if a body parser of the app has already read it.
 *
 * @throws {OAuthError} invalid_request for another content type, an invalid encoding, or more than 64 KiB
 */
export async function formOf(req: Request): Promise<Params> {
  const type = req.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  const parsed = req.readableEnded ? (req.body as unknown) : undefined
  const bytes = bytesOf(parsed)
  if (!bytes && typeof parsed === 'object' && parsed !== null && isForm(type)) {
    return Params.of(parsed as Record<string, unknown>)
  }
  const body = bytes ? textOf(bytes) : await readBody(req)
  if (!isForm(type)) throw invalidRequest('The body must be application/x-www-form-urlencoded.')
  return Params.parse(body)
}

/**
 * The members of a JSON body; also of one that the app's body parser has read.
 *
 * @throws {OAuthError} invalid_request for another content type, no JSON object, or more than 64 KiB
 */
export async function jsonOf(req: Request): Promise<JsonObject> {
  if (!req.is('application/json')) throw invalidRequest('The body must be application/json.')
  const parsed = req.readableEnded ? (req.body as unknown) : undefined
  const bytes = bytesOf(parsed)
  if (!bytes && isJsonObject(parsed)) return parsed
  const members = readJsonObject(Buffer.from(bytes ? textOf(bytes) : await readBody(req)))
  if (!members) throw invalidRequest('The body must be a JSON object.')
  return members
}

function isForm(type: string | undefined): boolean {
  return type === 'application/x-www-form-urlencoded'
}

async function readBody(req: Request): Promise<string> {
  const { chunks, length } = await received(req)
  if (length > LONGEST_BODY) throw tooLong()
  return textOf(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
}

/** The bytes that `express.raw()` or `express.text()` of the app has read. */
function bytesOf(parsed: unknown): Uint8Array | undefined {
  if (typeof parsed === 'string') return Buffer.from(parsed)
  return parsed instanceof Uint8Array ? parsed : undefined
}

function textOf(bytes: Uint8Array): string {
  if (bytes.length > LONGEST_BODY) throw tooLong()
  try {
    return utf8.decode(bytes)
  } catch {
    throw invalidRequest('The body is not UTF-8.')
  }
}

function tooLong(): OAuthError {
  return invalidRequest(`The body is longer than ${LONGEST_BODY} bytes.`, 413)
}

interface Received {
  readonly chunks: readonly Buffer[]
  readonly length: number
}

/** Listens to events: an async iterator over a one-chunk body takes as long as the rest of reading a form. */
function received(req: Request): Promise<Received> {
  const chunks: Buffer[] = []
  let length = 0
  return new Promise((resolve, reject) => {
    const aborted = (cause?: unknown) => reject(Object.assign(invalidRequest('The body was aborted.'), { cause }))
    req.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= LONGEST_BODY) chunks.push(chunk)
      else if (length > LONGEST_DROPPED) {
        resolve({ chunks, length })
        req.destroy()
      }
    })
    req.on('end', () => resolve({ chunks, length }))
    req.on('error', aborted)
    req.on('close', () => req.readableEnded || aborted())
    if (req.readableEnded) resolve({ chunks, length })
    else if (req.destroyed) aborted()
  })
}
