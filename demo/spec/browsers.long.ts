import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readData } from '../../spec/support/data'
import { startDemo } from './running'

interface Recorded {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly rawHeaders: Readonly<Record<string, string>>
}

const words = (field: string | null | undefined) => (field ?? '').split(',').map((word) => word.trim().toLowerCase())

describe('browsers and the demo', () => {
  it('a preflight is answered as recorded, without a token', async (t) => {
    const recorded = readData('recordings/browserGetPerson.json') as Recorded[]
    const preflights = recorded.filter(({ method }) => method === 'OPTIONS')
    assert.equal(preflights.length, 2)
    const { origin: url, close } = await startDemo()
    t.after(close)
    for (const { path, status, rawHeaders } of preflights) {
      const answer = await fetch(url + path, {
        method: 'OPTIONS',
        headers: { 'Access-Control-Request-Method': 'GET', 'Access-Control-Request-Headers': 'authorization' },
      })
      assert.equal(answer.status, status)
      assert.equal(answer.headers.get('Access-Control-Max-Age'), rawHeaders['access-control-max-age'])
      for (const name of ['allow-headers', 'allow-methods', 'expose-headers']) {
        const ours = words(answer.headers.get(`access-control-${name}`))
        for (const word of words(rawHeaders[`access-control-${name}`]))
          assert.ok(ours.includes(word), `${name}: ${word}`)
      }
    }
  })

  it('a page may read what an answer cost and what a refusal says', async (t) => {
    const { origin: url, visitor, close } = await startDemo({ windowMs: 86_400_000 })
    t.after(close)
    const headers = {
      Origin: 'https://app.test',
      Authorization: `Bearer ${await visitor.userToken('ada', 'family-app')}`,
    }
    for (const [path, fields] of [
      ['throttled?processingTime=18001', ['x-processing-time', 'x-throttle-window-size', 'x-throttle-millis-used']],
      ['users/current', ['x-processing-time', 'retry-after']],
    ] as const) {
      const answer = await fetch(`${url}/platform/${path}`, { headers })
      assert.equal(answer.headers.get('Access-Control-Allow-Origin'), '*')
      const exposed = words(answer.headers.get('Access-Control-Expose-Headers'))
      for (const field of fields) assert.ok(answer.headers.has(field) && exposed.includes(field), `${path}: ${field}`)
    }
    const denied = await fetch(`${url}/platform/users/current`, { headers: { Origin: 'https://app.test' } })
    assert.equal(denied.status, 401)
    assert.ok(words(denied.headers.get('Access-Control-Expose-Headers')).includes('www-authenticate'))
  })
})
