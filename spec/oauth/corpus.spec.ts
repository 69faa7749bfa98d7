import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, it } from 'node:test'
import { readData } from '../support/data'
import { serverOfSuite } from './support'
import { assertIs, below } from '../support/until'

interface Expectation {
  readonly kind: 'login' | 'page' | 'redirect-error' | 'json' | 'status' | 'procedure'
  readonly status?: readonly number[]
  readonly error?: readonly string[]
  readonly to?: string
  readonly state?: string
}

interface Case {
  readonly id: string
  readonly endpoint: string
  readonly title: string
  readonly source: string
  readonly method: string
  readonly params?: readonly (readonly [string, string])[]
  readonly query?: readonly (readonly [string, string])[]
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly rawHeaders?: readonly string[]
  readonly rawBody?: string
  readonly rawBodyGen?: { prefix: string; repeat: string; times: number }
  readonly expect: Expectation
  readonly allow?: readonly Expectation[]
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

const ISSUER = 'https://as.test'

describe('the corpus of authorization server cases, and no-store on each answer (O149)', () => {
  const { cases } = readData('corpora/oauth-cases.json') as { cases: Case[] }
  const running = serverOfSuite({ issuer: ISSUER })

  const executable = cases.filter(({ expect }) => expect.kind !== 'procedure')
  for (const one of executable) {
    it(`${one.id} ${one.endpoint}: ${one.title} (${one.source})`, async () => {
      const answer = await send(one)
      invariants(one, answer)
      const expected = [one.expect, ...(one.allow ?? [])]
      const faults = expected.map((expectation) => fault(expectation, answer))
      assert.ok(faults.includes(undefined), `${faults.join('; ')}\n${answer.status} ${answer.body.slice(0, 500)}`)
    })
  }

  function send(one: Case): Promise<Answer> {
    const isGet = one.method === 'GET'
    const query = encoded(isGet ? one.params : one.query)
    const gen = one.rawBodyGen
    const body = isGet ? '' : gen ? gen.prefix + gen.repeat.repeat(gen.times) : (one.rawBody ?? encoded(one.params))
    const path = `/${one.endpoint}${query === '' ? '' : `?${query}`}`
    const headers = one.rawHeaders ?? Object.entries(one.headers ?? {}).map(([name, value]) => `${name}: ${value}`)
    const type = one.contentType ?? (isGet ? undefined : 'application/x-www-form-urlencoded')
    const lines = [
      `${one.method} ${path} HTTP/1.1`,
      'Host: as.test',
      'Connection: close',
      ...headers,
      ...(type === undefined ? [] : [`Content-Type: ${type}`]),
      ...(isGet ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
    ]
    return exchange(`${lines.join('\r\n')}\r\n\r\n${body}`)
  }

  /** Over a socket: an HTTP client would tidy the request. */
  function exchange(request: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(new URL(running.origin).port), '127.0.0.1')
      const chunks: Buffer[] = []
      socket.on('data', (chunk: Buffer) => chunks.push(chunk))
      socket.on('error', reject)
      socket.on('end', () => {
        const [head = '', ...rest] = Buffer.concat(chunks).toString().split('\r\n\r\n')
        const [first = '', ...lines] = head.split('\r\n')
        const headers = new Headers(
          lines.map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
        )
        resolve({ status: Number(first.split(' ')[1]), headers, body: rest.join('\r\n\r\n') })
      })
      socket.write(request)
    })
  }
})

function encoded(params: Case['params'] = []): string {
  const query = new URLSearchParams()
  for (const [name, value] of params) query.append(name, value)
  return query.toString()
}

/** The fault of an answer, or undefined. */
function fault(
  { kind, status, error, to, state }: Expectation,
  { status: got, headers, body }: Answer,
): string | undefined {
  const location = headers.get('location')
  if (status && !status.includes(got)) return `status ${got}, not ${status.join(' or ')}`
  switch (kind) {
    case 'login':
      return got === 200 && body.includes('name="password"') ? undefined : 'not the login page'
    case 'page':
      return headers.get('content-type')?.startsWith('text/html') && location === null ? undefined : 'not a page'
    case 'status':
      return undefined
    case 'json': {
      const code = (JSON.parse(body) as { error?: string }).error ?? ''
      return error?.includes(code) ? undefined : `error ${code}, not ${error?.join(' or ')}`
    }
    case 'redirect-error': {
      if (location === null || !to || !location.startsWith(to)) return `no redirect to ${to}`
      const params = new URL(location).searchParams
      if (!error?.includes(params.get('error') ?? '')) return `error ${params.get('error')}, not ${error?.join(' or ')}`
      return state === undefined || params.get('state') === state ? undefined : `state ${params.get('state')}`
    }
    case 'procedure':
      return 'a procedure'
  }
}

/** The invariants of every case of the corpus. */
function invariants(one: Case, { status, headers, body }: Answer): void {
  assertIs(status, below(500), `status ${status}`)
  assert.match(headers.get('cache-control') ?? '', /no-store/)
  assert.match(headers.get('x-processing-time') ?? '', /^\d+$/)
  if (headers.get('content-type')?.startsWith('text/html')) {
    assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('referrer-policy'), 'no-referrer')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.ok(!/<script|<svg|onload=/i.test(body))
  }
  const location = headers.get('location')
  if (location !== null) assert.equal(new URL(location).searchParams.get('iss'), ISSUER)
  if (one.endpoint !== 'token') return
  assert.equal(headers.get('content-type')?.replaceAll(' ', '').toLowerCase(), 'application/json;charset=utf-8')
  const { error_description: description } = JSON.parse(body) as { error_description?: string }
  assert.match(description ?? '', /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
}
