// Each program of examples/ does what its row in the list says.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { type TestContext, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { page } from './support/markdown'
import { startRedis } from './support/redis'
import { assertIs, atLeast, until } from './support/until'

const run = promisify(execFile)
const root = process.cwd()
const commands = page(root, 'examples/README.md').inlineCode.filter((code) => code.startsWith('npm run example '))

/** Runs the command that stands in the list of examples, and returns the curl lines that it prints. */
async function start(t: TestContext, name: string, lines = 1, redisUrl = ''): Promise<string[]> {
  assert.ok(commands.includes(`npm run example ${name}`), `${name} is in the list`)
  const env = { ...process.env, PORT: '0', NODE_ENV: 'test', REDIS_URL: redisUrl }
  const child = spawn('npm', ['run', '--silent', 'example', name], {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let said = ''
  let ended = false
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  child.once('close', () => (ended = true))
  t.after(async () => {
    process.kill(-(child.pid as number), 'SIGTERM')
    await until(() => ended)
  })
  await until(() => ended || out.split('\n').length > lines)
  assert.equal(ended, false, `it ended: ${out}${said}`)
  return out.trim().split('\n')
}

/** What a curl line gets: its status, header and body. */
async function paste(line: string | undefined, more = ''): Promise<{ status: number; head: string; body: string }> {
  assert.match(String(line), /^curl /)
  const { stdout } = await run('sh', ['-c', `${line} -s ${more}`])
  const [head = '', ...body] = stdout.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head, body: body.join('\r\n\r\n') }
}

describe('examples', () => {
  // Where one of them would have to build the package first, it does so here, and once.
  before(() => run(process.execPath, ['scripts/build.mjs', '--stale'], { cwd: root }), { timeout: 600_000 })

  it('are all in this spec', () => assert.equal(commands.length, 5))

  it('two-processes: one budget over two processes behind a proxy', async (t) => {
    const redis = await startRedis()
    t.after(() => redis.stop())
    const [line] = await start(t, 'two-processes', 1, `redis://127.0.0.1:${redis.port}`)
    const seen = new Set<number>()
    let refused = ''
    let inARow = 0 // answers that each show what the one before, of the other process, has cost
    let longest = 0
    let usedBefore = 0
    for (let i = 0; i < 40 && (!refused || longest < 3); i++) {
      const { status, head, body } = await paste(line)
      if (status === 429) {
        refused = head
        continue
      }
      seen.add((JSON.parse(body) as { process: number }).process)
      const used = Number(/\r\nX-THROTTLE-MILLIS-USED: (\d+)/.exec(head)?.[1])
      inARow = used >= usedBefore + 300 ? inARow + 1 : 0
      longest = Math.max(longest, inARow)
      usedBefore = used
    }
    assert.equal(seen.size, 2, 'both processes answered')
    assertIs(longest, atLeast(3), `${longest} in a row`)
    assert.match(refused, /\r\nRetry-After: ([1-9]|10|11)(\r\n|$)/)
  })

  it('express-4: answers, from CommonJS', async (t) => {
    const [line] = await start(t, 'express-4')
    const { status, head, body } = await paste(line)
    assert.equal(status, 200)
    assert.match(head, /X-THROTTLE-WINDOW-SIZE: 1000/)
    assert.equal((JSON.parse(body) as { user: string }).user, 'ada')
    assert.equal((await paste(String(line).replace(/ -H .*/, ''))).status, 401)
  })

  it('typescript-esm: knows plans, scopes and whose session it is', async (t) => {
    const [line] = await start(t, 'typescript-esm')
    const { head, body } = await paste(line)
    assert.match(head, /X-THROTTLE-WINDOW-SIZE: 60000/)
    assert.equal((JSON.parse(body) as { who: string }).who, 'user ada')
    assert.equal((await paste(String(line).replace('/me', '/tree'), '-X DELETE')).status, 403)
  })

  it('usual-order: refusals have helmet and cors fields, answers are compressed, bodies parsed', async (t) => {
    const [line] = await start(t, 'usual-order')
    const answer = await paste(line, `-H 'Origin: https://app.test'`)
    assert.match(answer.head, /\r\nContent-Encoding: (br|gzip)/i)
    assert.match(answer.head, /\r\nAccess-Control-Expose-Headers: .*X-Throttle-Millis-Left/)
    assert.equal((JSON.parse(answer.body) as unknown[]).length, 500)
    const refused = await paste(String(line).replace(/ -H .*/, ''))
    assert.equal(refused.status, 401)
    assert.match(refused.head, /\r\nContent-Security-Policy: /)
    assert.match(refused.head, /\r\nAccess-Control-Allow-Origin: \*/)
    const preflight = `-X OPTIONS -H 'Origin: https://app.test' -H 'Access-Control-Request-Method: GET'`
    assert.equal((await paste(String(line).replace(/ -H .*/, ''), preflight)).status, 204)
    const json = `-H 'Content-Type: application/json' -d`
    const sent = await paste(line, `${json} '{"name":"Ada"}'`)
    assert.deepEqual(JSON.parse(sent.body), { user: 'ada', received: { name: 'Ada' } })
    assert.equal((await paste(line, `${json} '{'`)).status, 400)
  })

  it('opentelemetry: shows Prometheus what was admitted and refused, and not who', async (t) => {
    const [line, metrics] = await start(t, 'opentelemetry', 2)
    let refused = false
    for (let i = 0; i < 10 && !refused; i++) refused = (await paste(line)).status === 429
    assert.ok(refused)
    const { stdout } = await run('sh', ['-c', String(metrics)])
    assert.match(stdout, /^# TYPE \w*requests\w* counter$/m)
    assert.match(stdout, /outcome="refused"/)
    assert.doesNotMatch(stdout, /\bada\b|user:/)
  })
})
