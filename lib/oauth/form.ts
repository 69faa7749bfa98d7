import type { Request } from 'express'
import { invalidRequest } from './oauth-error'
import { Params } from './params'

/** No form of this server needs more. */
const LONGEST_BODY = 65_536
/** What comes beyond is read and dropped up to here, so that the client hears the answer; then the line is cut. */
const LONGEST_DROPPED = 16 * 1_048_576

/** The parameters of the query, as they stand in the URL, whatever query parser the app has. @throws {OAuthError} */
export function queryOf(req: Request): Params {
  const at = req.url.indexOf('?')
  return Params.parse(at < 0 ? '' : req.url.slice(at + 1))
}

/**
 * The parameters of a form-encoded body; of one that a body parser of the app has read already, too.
 *
 * @throws {OAuthError} invalid_request for another content type, broken encoding, or more than 64 KiB
 */
export async function formOf(req: Request): Promise<Params> {
  const type = req.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  const parsed = req.body as unknown
  if (req.readableEnded && typeof parsed === 'object' && parsed !== null && isForm(type)) {
    return Params.of(parsed as Record<string, unknown>)
  }
  const body = await readBody(req)
  if (!isForm(type)) throw invalidRequest('The body must be application/x-www-form-urlencoded.')
  return Params.parse(body)
}

function isForm(type: string | undefined): boolean {
  return type === 'application/x-www-form-urlencoded'
}

async function readBody(req: Request): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of req as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length <= LONGEST_BODY) chunks.push(chunk)
      else if (length > LONGEST_DROPPED) break
    }
  } catch (cause) {
    throw Object.assign(invalidRequest('The body broke off.'), { cause })
  }
  if (length > LONGEST_BODY) throw invalidRequest(`The body is longer than ${LONGEST_BODY} bytes.`, 413)
  const text = Buffer.concat(chunks)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(text)
  } catch {
    throw invalidRequest('The body is not UTF-8.')
  }
}
