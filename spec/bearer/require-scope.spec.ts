import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import { requireBearer, requireScope } from '../../lib'
import { devIssuer } from '../../lib/testing'
import { serve } from '../support/serve'

const dev = devIssuer()

describe('requireScope()', () => {
  async function app() {
    const app = express()
    app.get('/open', requireScope('read'), (_req, res) => void res.end())
    app.use(requireBearer({ ...dev.options, realm: 'tree' }))
    app.get('/read', requireScope('read'), (_req, res) => void res.end())
    app.get('/both', requireScope('read', 'write'), (_req, res) => void res.end())
    app.use(((err: Error, _req, res, _next) => void res.status(500).send(err.message)) as express.ErrorRequestHandler)
    const { url } = await serve(app)
    return (path: string, scope?: unknown) =>
      fetch(url + path, { headers: { authorization: `Bearer ${dev.token('ada', { claims: { scope } })}` } })
  }

  it('lets in who was granted all of them', async () => {
    const get = await app()
    assert.equal((await get('/read', 'read')).status, 200)
    assert.equal((await get('/both', 'x write read')).status, 200)
    assert.equal((await get('/both', ['read', 'write'])).status, 200)
  })

  it('answers the others with 403 insufficient_scope that names them all (RFC 6750 §3.1)', async () => {
    const get = await app()
    for (const scope of [
      undefined,
      '',
      'read',
      'readwrite',
      'read\twrite',
      { read: true, write: true },
      'READ WRITE',
    ]) {
      const answer = await get('/both', scope)
      assert.equal(answer.status, 403, JSON.stringify(scope))
      const field = answer.headers.get('www-authenticate') ?? ''
      assert.match(
        field,
        /^Bearer realm="tree", error="insufficient_scope", error_description="[^"]+", scope="read write"$/,
      )
    }
  })

  it('takes a list of which any will do by itself only', () => {
    const any = { any: ['read', 'write'] } as const
    assert.equal(requireScope(any).name, 'requireScope')
    const both: unknown = [any, 'write']
    assert.throws(() => requireScope(...(both as string[])), /requireScope\(\) takes one scope or more/)
  })

  it('throws where it is mounted uncalled, and says how to call it', async () => {
    const app = express().use(requireScope as unknown as express.RequestHandler)
    app.use(((err: Error, _req, res, _next) => void res.status(500).send(err.message)) as express.ErrorRequestHandler)
    const { url } = await serve(app)
    const message = "app.use(requireScope) mounts the factory itself; call it: app.use(requireScope('read'))"
    assert.equal(await (await fetch(url)).text(), message)
  })

  it('says so where no requireBearer() stands before it', async () => {
    const answer = await (await app())('/open', 'read')
    assert.equal(answer.status, 500)
    assert.match(await answer.text(), /requireScope\(\) must stand after requireBearer\(\)/)
  })
})
