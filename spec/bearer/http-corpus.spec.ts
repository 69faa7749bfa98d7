import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { subscribe } from 'node:diagnostics_channel'
import { describe, it } from 'node:test'
import express from 'express'
import { requireBearer, requireScope, type BearerOptions } from '../../lib'
import { readData } from '../support/data'
import { serve } from '../support/serve'
import { assertIs, below, above } from '../support/until'

interface Expectation {
  readonly status: number
  readonly error?: string | null
  readonly layer?: 'http-parser'
}
interface Case {
  readonly id: string
  readonly title: string
  readonly verifier: 'rs256' | 'hs256' | 'es256'
  readonly request_b64?: string
  readonly request_gen?: string
  readonly expect: Expectation
  readonly allow?: readonly Expectation[]
}

/** Where a tolerated alternative is what happens here, and why. */
const ALTERNATIVES: Readonly<Record<string, string>> = {
  B035: 'the token in a form body is no recognised source (RFC 6750 §2.2 is opt-in): the body is the app’s own',
}

describe('requireBearer() against the HTTP corpus, over a raw socket', async () => {
  const { cases } = readData('corpora/bearer-cases.json') as { cases: Case[] }
  const keys = readData('corpora/bearer-keys.json') as { hs256: string; rsa: { pub: string }; ec: { pub: string } }
  const jwk = (pem: string, kid: string, alg: string) =>
    ({ ...createPublicKey(pem).export({ format: 'jwk' }), kid, alg }) as unknown as { kty: string }
  const sources = {
    rs256: { key: jwk(keys.rsa.pub, 'rs1', 'RS256'), algorithms: ['RS256'] },
    es256: { key: jwk(keys.ec.pub, 'es1', 'ES256'), algorithms: ['ES256'] },
    hs256: { secret: Buffer.from(keys.hs256, 'base64url'), algorithms: ['HS256'] },
  }
  let sent = 0
  let connections = 0
  subscribe('net.client.socket', () => connections++)
  const apps = new Map<string, Awaited<ReturnType<typeof serve>>>()
  for (const [verifier, source] of Object.entries(sources)) {
    const app = express()
    app.use(requireBearer({ issuer: 'https://as.test', audience: 'https://api.test', ...source } as BearerOptions))
    app.get('/scoped', requireScope('read'))
    app.use((_req, res) => void res.send('let in'))
    apps.set(verifier, await serve(app, { maxHeaderSize: 16_384 }))
    apps.set(`${verifier} large`, await serve(app, { maxHeaderSize: 2_097_152 }))
  }

  function requestOf({ request_b64, request_gen }: Case): Buffer {
    if (request_b64 !== undefined) return Buffer.from(request_b64, 'base64')
    assert.equal(request_gen, 'Bearer + "a"*1048576; server maxHeaderSize=2MB')
    const head = 'GET /protected HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\nAuthorization: Bearer '
    return Buffer.from(`${head}${'a'.repeat(1_048_576)}\r\n\r\n`)
  }

  async function send(one: Case) {
    const server = apps.get(one.request_gen ? `${one.verifier} large` : one.verifier)
    const request = requestOf(one)
    sent++
    const answer = (await server?.raw(request)) ?? ''
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    const challenges = [...head.matchAll(/^WWW-Authenticate: (.*)$/gim)].map(([, value]) => value as string)
    const error = challenges.length === 0 ? undefined : (/error="([^"]*)"/.exec(challenges[0] as string)?.[1] ?? null)
    return { request, answer, head, body, challenges, error, status: Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]) }
  }

  function meets(expectation: Expectation, { status, error, head }: Awaited<ReturnType<typeof send>>): boolean {
    if (status !== expectation.status) return false
    if (expectation.layer === 'http-parser') return !head.includes('X-PROCESSING-TIME')
    return expectation.error === undefined || error === expectation.error
  }

  it(`has its ${cases.length} cases`, () => assert.equal(cases.length, 104))

  for (const one of cases) {
    it(`${one.id} ${one.title}`, async () => {
      const got = await send(one)
      const { status, challenges, answer, request, error } = got
      const said = `answered ${status} ${error}`
      if (one.id in ALTERNATIVES) {
        assert.ok(!meets(one.expect, got), 'the alternative is not needed')
        assert.ok(
          one.allow?.some((expectation) => meets(expectation, got)),
          said,
        )
      } else assert.ok(meets(one.expect, got), said)

      assertIs(status, below(500))
      if (got.head.includes('X-PROCESSING-TIME') && status >= 400) {
        assert.equal(challenges.length, 1)
        const param = String.raw`[a-z_]+="[\x20\x21\x23-\x5b\x5d-\x7e]*"`
        assert.match(challenges[0] as string, new RegExp(`^Bearer(?: ${param}(?:, ${param})*)?$`))
      }
      for (const text of reflectable(request)) assert.ok(!answer.includes(text), `reflects ${text}`)
      assert.equal(({} as { polluted?: unknown }).polluted, undefined)
    })
  }

  it('tells expired, badly signed and unknown keys apart by error_description only', async () => {
    const heads = new Set<string>()
    for (const { id, title, ...rest } of cases) {
      if (!['exp 0', 'signed by a 1024-bit RSA key', 'kid SQL injection'].includes(title)) continue
      const { head, body } = await send({ id, title, ...rest })
      const volatile = /error_description="[^"]*"|^(?:Date|X-PROCESSING-TIME|Content-Length): .*$/gm
      heads.add(head.replace(volatile, '') + body.replace(/<message>.*<\/message>/, ''))
    }
    assert.equal(heads.size, 1)
  })

  it('makes no connection to anywhere, whatever a token names', () => {
    assertIs(sent, above(cases.length))
    assert.equal(connections, sent)
  })
})

/** What of a request must not come back: the token's parts, and every text of six characters or more in its header. */
function reflectable(request: Buffer): string[] {
  const token = /Bearer\s+([\x21-\x7e]+)/i.exec(request.toString('latin1'))?.[1] ?? ''
  const parts = token.split('.')
  const texts = parts.filter((part) => part.length >= 12).map((part) => part.slice(0, 40))
  for (const part of parts.slice(0, 2)) {
    try {
      const value = JSON.parse(Buffer.from(part, 'base64url').toString()) as object
      texts.push(...Object.values(value).filter((v): v is string => typeof v === 'string' && v.length >= 6))
    } catch {
      // no JSON: nothing more to look for
    }
  }
  return texts.filter((text) => !['insufficient_scope'].includes(text))
}
