// Error bodies: the media type that Accept and errorFormat lead to, and text that no parser misreads.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import fc from 'fast-check'
import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { sendError } from '../../../lib/http/answer/deny'
import type { ErrorFormatOption } from '../../../lib/http/answer/error-format'
import { type Answer, type Listening, serve } from '../../support/serve'

/** Answers each request with the error that its query names. */
async function errors(format?: ErrorFormatOption): Promise<Listening> {
  const app = express()
  app.use((req, res) => {
    const { searchParams } = new URL(req.url, 'http://x')
    sendError(
      req,
      res,
      Number(searchParams.get('status')),
      searchParams.get('message') ?? '',
      {},
      format ? { errorFormat: format } : {},
    )
  })
  const listening = await serve(app)
  return listening
}

const query = (status: number, message: string) =>
  `/?${new URLSearchParams({ status: String(status), message }).toString()}`

/** The status and message that a parser finds in the body, by the media type that the response names. */
function parsed({ headers, body }: Answer): { type: string; code: unknown; message: unknown } {
  const type = headers.get('Content-Type') ?? ''
  if (/xml/.test(type)) {
    assert.equal(XMLValidator.validate(body), true, body)
    const parser = new XMLParser({ ignoreAttributes: false, trimValues: false, htmlEntities: true })
    const { errors } = parser.parse(body) as {
      errors: { error: { code: unknown; message: unknown }; '@_xmlns': string }
    }
    return { type, code: errors.error.code, message: errors.error.message }
  }
  if (type === 'application/problem+json') {
    const { status, detail, title } = JSON.parse(body) as Record<string, unknown>
    return { type, code: status, message: detail ?? title }
  }
  const { errors } = JSON.parse(body) as { errors: [{ code: unknown; message?: unknown }] }
  return { type, code: errors[0].code, message: errors[0].message }
}

const XML = 'application/x-fs-v1+xml'
const JSON_TYPE = 'application/x-fs-v1+json'
const PROBLEM = 'application/problem+json'

describe('error bodies are negotiated', () => {
  const table: [accept: string, type: string][] = [
    ['*/*', XML],
    ['', XML],
    ['application/*', XML],
    ['application/x-fs-v1+xml', XML],
    ['application/xml', XML],
    ['text/xml', XML],
    ['text/html', XML],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', XML],
    ['image/png, text/plain', XML],
    ['application/x-fs-v1+json', JSON_TYPE],
    ['application/json', JSON_TYPE],
    ['APPLICATION/JSON', JSON_TYPE],
    ['application/x-gedcomx-v1+json', JSON_TYPE],
    ['application/json, text/plain, */*', JSON_TYPE],
    ['*/*, application/json', JSON_TYPE],
    ['application/json;charset=utf-8', JSON_TYPE],
    ['text/html, application/json;q=0.9, */*;q=0.8', JSON_TYPE],
    ['application/json;q=0.1, */*;q=0.9', XML],
    ['application/json;q=0.5, application/xml', XML],
    ['application/xml;q=0.5, application/json;q=0.6', JSON_TYPE],
    ['application/x-fs-v1+xml, application/x-fs-v1+json', XML],
    ['application/x-fs-v1+json, application/x-fs-v1+xml', JSON_TYPE],
    ['application/json;q=0', XML],
    ['*/*, application/xml;q=0.1', JSON_TYPE],
    ['*/*, application/xml;q=0.1, application/json;q=0.2', JSON_TYPE],
    ['application/json;version=1;q=0.2, application/xml;q=nan', JSON_TYPE],
    ['application/problem+json', PROBLEM],
    ['Application/Problem+JSON', PROBLEM],
    ['application/problem+json, application/json;q=0.9', PROBLEM],
    ['application/json, application/problem+json;q=0.9', JSON_TYPE],
  ]
  for (const [accept, type] of table) {
    it(`Accept: ${accept || '(empty)'} → ${type}`, async () => {
      const { get } = await errors()
      const answer = await get(query(403, 'Slow down'), { Accept: accept })
      assert.deepEqual(parsed(answer), { type, code: 403, message: 'Slow down' })
      assert.equal(answer.headers.get('Vary'), 'Accept')
      assert.equal(answer.number('Content-Length'), Buffer.byteLength(answer.body))
    })
  }

  const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const chosen: [format: ErrorFormatOption, accept: string, type: string][] = [
    ['json', '*/*', 'application/json'],
    ['json', BROWSER, 'application/json'],
    ['json', 'text/html', 'application/json'],
    ['json', 'image/png', 'application/json'],
    ['json', 'application/json', 'application/json'],
    ['json', JSON_TYPE, 'application/json'],
    ['json', 'application/xml', XML],
    ['json', 'application/xml, */*;q=0.1', XML],
    ['json', PROBLEM, PROBLEM],
    ['problem', '*/*', PROBLEM],
    ['problem', BROWSER, PROBLEM],
    ['problem', 'application/json', 'application/json'],
    ['problem', 'text/html, application/json;q=0.9, */*;q=0.1', 'application/json'],
    ['problem', 'text/xml', XML],
    [{ default: 'json' }, '*/*', JSON_TYPE],
    [{ default: 'problem' }, 'application/json', JSON_TYPE],
  ]
  for (const [format, accept, type] of chosen) {
    it(`errorFormat: ${JSON.stringify(format)}, Accept: ${accept} → ${type}`, async () => {
      const { get } = await errors(format)
      assert.deepEqual(parsed(await get(query(403, 'No'), { Accept: accept })), { type, code: 403, message: 'No' })
    })
  }

  it('in the types that errorFormat names, also where they end in neither +json nor +xml', async () => {
    const format = { xml: 'application/vnd.x', json: 'application/vnd.j; v=1', xmlNamespace: 'urn:a&"<' }
    const { get } = await errors(format)
    const json = await get(query(403, 'No'), { Accept: 'application/vnd.j' })
    assert.deepEqual(
      [json.headers.get('Content-Type'), JSON.parse(json.body)],
      ['application/vnd.j; v=1', { errors: [{ code: 403, message: 'No' }] }],
    )
    const xml = await get(query(403, 'No'), { Accept: 'application/vnd.x' })
    assert.equal(xml.headers.get('Content-Type'), 'application/vnd.x')
    const parser = new XMLParser({ ignoreAttributes: false })
    assert.equal((parser.parse(xml.body) as { errors: { '@_xmlns': string } }).errors['@_xmlns'], 'urn:a&"<')
  })

  it('has only the code in the JSON of a 429, as the service has it, and the message elsewhere', async () => {
    const { get } = await errors()
    const body = async (path: string, accept: string) =>
      JSON.parse((await get(path, { Accept: accept })).body) as unknown
    assert.deepEqual(await body(query(429, 'No time left'), JSON_TYPE), { errors: [{ code: 429 }] })
    assert.deepEqual(await body(query(429, 'No time left'), PROBLEM), {
      ...{ type: 'about:blank', title: 'Too Many Requests', status: 429, detail: 'No time left' },
    })
    assert.deepEqual(await body(query(503, 'Service Unavailable'), PROBLEM), {
      ...{ type: 'about:blank', title: 'Service Unavailable', status: 503 },
    })
  })

  it('is empty for HEAD, with the length that GET would have', async () => {
    const { url, get } = await errors()
    const head = await fetch(url + query(429, 'no'), { method: 'HEAD' })
    assert.equal(await head.text(), '')
    assert.equal(head.headers.get('Content-Length'), (await get(query(429, 'no'))).headers.get('Content-Length'))
  })
})

describe('error bodies and hostile input', () => {
  const hostile = [
    '<script>alert(1)</script>',
    ']]><x/>',
    '"\'&amp;&#0;',
    'a\r\nb\rc',
    '\u0000\u0008\ufffe',
    '𝒜\u202e',
    '%s${x}',
  ]
  for (const message of hostile) {
    it(`parsers find the text ${JSON.stringify(message)} again, or U+FFFD for what XML cannot say`, async () => {
      const { get } = await errors()
      for (const accept of [JSON_TYPE, PROBLEM]) {
        assert.equal(parsed(await get(query(400, message), { Accept: accept })).message, message)
      }
      const sayable = message.replace(/[\u0000\u0008\ufffe]/g, '\ufffd')
      assert.equal(parsed(await get(query(400, message))).message, sayable)
    })
  }

  it('whatever Accept says, the answer is one of the three and well-formed', async () => {
    const { get } = await errors()
    const token = fc.stringMatching(/^[!-~]{0,12}$/)
    const part = fc.oneof(
      token,
      fc.constantFrom(
        'application/json',
        '*/*',
        'a/b+json',
        'x+json',
        '/',
        ';q=',
        ';q=nan',
        ';q=1e999',
        '"',
        '__proto__',
      ),
    )
    const accepts = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(','))
    await fc.assert(
      fc.asyncProperty(accepts, async (accept) => {
        const { type, code } = parsed(await get(query(429, 'no'), { Accept: accept }))
        assert.ok([XML, JSON_TYPE, PROBLEM].includes(type))
        assert.equal(code, 429)
      }),
      { numRuns: 200 },
    )
  })
})
