// The rolling restart of docs/several-processes.md answers every request.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, get } from 'node:http'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { it } from 'node:test'
import { page } from './support/markdown'
import { freePort, startRedis } from './support/redis'
import { until } from './support/until'

const root = process.cwd()
const TITLE = 'A rolling restart under `node:cluster`'

it('docs/several-processes.md: a rolling restart answers every request, also one that is running', async (t) => {
  const redis = await startRedis()
  const port = await freePort()
  const home = mkdtempSync(join(tmpdir(), 'express-tollgate-rolling-'))
  const modules = join(home, 'node_modules')
  mkdirSync(modules)
  symlinkSync(root, join(modules, 'express-tollgate'))
  symlinkSync(join(root, 'node_modules/express'), join(modules, 'express'))
  const sample = page(root, 'docs/several-processes.md').blocks.find(({ heading }) => heading === TITLE)
  assert.ok(sample)
  const program = sample.text
    .replace('localhost:6379', `127.0.0.1:${redis.port}`)
    .replace('listen(3000', `listen(${port}`)
    .replace(
      "app.get('/',",
      "app.get('/slow', (req, res) => void setTimeout(() => res.send('slow'), 2_000))\n  app.get('/',",
    )
  writeFileSync(join(home, 'cluster.mjs'), program)
  let said = ''
  const primary = spawn(process.execPath, ['cluster.mjs'], { cwd: home })
  primary.stderr.setEncoding('utf8').on('data', (chunk: string) => (said += chunk))
  let isEnded = false
  primary.once('exit', () => (isEnded = true))
  t.after(async () => {
    primary.kill()
    await until(() => isEnded)
    await redis.stop()
    rmSync(home, { recursive: true, force: true })
  })

  /** The worker that answers: each request has a connection of its own. */
  const ask = async (path = '/') => {
    const [answer] = (await once(get({ port, path, agent: false }), 'response')) as [IncomingMessage]
    assert.equal(answer.statusCode, 200)
    return text(answer)
  }
  await until(() => ask().catch(() => ''))
  const before = new Set<string>()
  await until(async () => before.add(await ask()).size, availableParallelism())
  const slow = ask('/slow')
  primary.kill('SIGHUP')
  const after = new Set<string>()
  await until(async () => {
    const worker = await ask()
    if (!before.has(worker)) after.add(worker)
    return after.size === before.size
  })
  assert.equal(await slow, 'slow')
  // Redis may answer late on a busy machine.
  assert.equal(said.replace(/^.*(TOLLGATE_(DEGRADED|RECOVERED)|trace-warnings).*\n/gm, ''), '')
})
