import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import connect from 'connect'
import type { Request } from 'express'
import { throttle } from '../../lib'
import { listen } from '../support/serve'
import { assertIs, above } from '../support/until'

/** A Vite server in middleware mode, with one module of TypeScript, and what a plugin adds in `configureServer()`. */
async function viteServer(t: TestContext, configure: (middlewares: connect.Server) => unknown = () => undefined) {
  const root = await mkdtemp(join(tmpdir(), 'tollgate-vite-'))
  t.after(() => rm(root, { recursive: true, force: true }))
  await writeFile(join(root, 'main.ts'), 'export const answer: number = 42\n')
  const { createServer } = await import('vite')
  const plugin = {
    name: 'api',
    configureServer: (server: { middlewares: connect.Server }) => void configure(server.middlewares),
  }
  const vite = await createServer({
    ...{ root, plugins: [plugin], configFile: false, logLevel: 'silent', appType: 'custom' },
    server: { middlewareMode: true, hmr: false, ws: false, watch: null },
    optimizeDeps: { noDiscovery: true, include: [] },
  })
  t.after(() => vite.close())
  return vite
}

const api: connect.SimpleHandleFunction = (req, res) => {
  ;(req as Request).throttle?.charge(2_000)
  res.end('done')
}

describe('throttle() and Vite', () => {
  it('charges what vite.middlewares serve behind it, and refuses beyond the limit', async (t) => {
    const throttled = throttle({ limitMs: 1_000, windowMs: 86_400_000, subject: () => 'ada' })
    const vite = await viteServer(t)
    const { get, close } = await listen(connect().use(throttled).use('/api', api).use(vite.middlewares))
    t.after(close)
    const served = await get('/main.ts')
    assert.deepEqual([served.status, served.number('x-throttle-window-size')], [200, 1_000])
    assert.match(served.body, /export const answer = 42/)
    assertIs((await throttled.usage('ada'))[0]?.spentMs ?? 0, above(0))
    await get('/api')
    const refused = await get('/main.ts')
    assert.equal(refused.status, 429)
    assertIs(refused.number('retry-after'), above(0))
  })

  it('charges an API that a plugin adds in configureServer()', async (t) => {
    const throttled = throttle({ limitMs: 1_000, windowMs: 86_400_000, subject: () => 'ada' })
    const vite = await viteServer(t, (middlewares) => middlewares.use('/api', throttled).use('/api', api))
    const { get, close } = await listen(vite.middlewares)
    t.after(close)
    assert.equal((await get('/api/persons')).body, 'done')
    assert.equal((await get('/api/persons')).status, 429)
    assert.equal((await get('/main.ts')).status, 200, 'modules are not throttled')
  })
})
