import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import { requireBearer, requireScope } from '../../lib'
import { devIssuer } from '../../lib/testing'
import { withHelpLink } from '../support/help-link'
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

  it('takes roles where scopeFrom or session may grant them, and says so where nothing can', async () => {
    const roles = ['Team Lead', 'Geschäftsführung']
    const asking = async (options: object, scope: readonly (string | { any: string[] })[]) => {
      const app = express().use(requireBearer({ ...dev.options, ...options }), requireScope(...(scope as string[])))
      app.use((_req, res) => void res.end())
      app.use(((err: Error, _req, res, _next) => void res.status(500).send(err.message)) as express.ErrorRequestHandler)
      const { url } = await serve(app)
      const authorization = `Bearer ${dev.token('ada', { claims: { roles } })}`
      const answer = await fetch(url, { headers: { authorization } })
      return [answer.status, answer.headers.get('www-authenticate') ?? (await answer.text())]
    }
    const withRoles = { scopeFrom: ['roles'] }
    assert.deepEqual(await asking(withRoles, roles), [200, ''])
    assert.deepEqual(await asking(withRoles, [{ any: ['x', 'Geschäftsführung'] }]), [200, ''])
    const session = () => ({ kind: 'user', userId: 'ada', scope: roles })
    assert.deepEqual(await asking({ session }, ['Team Lead']), [200, ''])
    for (const role of ['Team', 'team lead', 'Vorstand ü', 'a"b']) {
      const [status, challenge] = await asking(withRoles, [role])
      assert.equal(status, 403)
      assert.equal(String(challenge).includes('scope="'), role === 'Team') // RFC 6749 §3.3 can write only that
    }
    const message =
      "'read write' is no scope as RFC 6749 §3.3 writes them: write requireScope('read', 'write'); for a role set scopeFrom"
    assert.deepEqual(await asking({}, ['read write']), [500, withHelpLink('TOLLGATE_OPTION', message)])
    assert.equal((await asking({ ...withRoles, scope: ['Team Lead'] }, ['Team Lead']))[0], 200)
  })

  it('answers the others with 403 insufficient_scope that names them all (RFC 6750 §3.1)', async () => {
    const get = await app()
    const short = ['', 'read', 'readwrite', 'read\twrite', 'READ WRITE']
    for (const scope of [undefined, ...short, { read: true, write: true }]) {
      const answer = await get('/both', scope)
      assert.equal(answer.status, 403, JSON.stringify(scope))
      const field = answer.headers.get('www-authenticate') ?? ''
      assert.match(
        field,
        /^Bearer realm="tree", error="insufficient_scope", error_description="[^"]+", scope="read write"$/,
      )
    }
  })

  it('says so where no requireBearer() stands before it', async () => {
    const answer = await (await app())('/open', 'read')
    assert.equal(answer.status, 500)
    assert.match(await answer.text(), /requireScope\(\) must stand after requireBearer\(\)/)
  })
})
