import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { type TestContext, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { startRedis } from '../../spec/support/redis'
import { assertIs, atLeast, atMost, until } from '../../spec/support/until'
import { TYPESCRIPT } from '../../spec/support/typescript'

const run = promisify(execFile)
const root = process.cwd()
const LIMIT_MS = 1_000
const WINDOW_MS = 5_000

/** `npm start` as a process of its own; resolves when it has said all it has to say. */
async function started(t: TestContext, env: NodeJS.ProcessEnv = {}) {
  const child: ChildProcess = spawn(process.execPath, [...TYPESCRIPT, 'demo/main.ts'], {
    cwd: root,
    env: { ...process.env, PORT: '0', LIMIT_MS: String(LIMIT_MS), WINDOW_MS: String(WINDOW_MS), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  const said = { out: '', err: '' }
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (said.out += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said.err += text))
  await until(() => /^less .*\n$/m.test(said.out) || child.exitCode !== null)
  const setting = /^\. \/.+\/tokens\.sh$/m.exec(said.out)?.[0] ?? ''
  const requests = /^less (.+)$/m.exec(said.out)?.[1]
  const text = requests ? readFileSync(requests, 'utf8') : ''
  const found = [...text.matchAll(/^# (.+)\n(curl .+(?:\n {2}.+)*)$/gm)]
  const lines = new Map(found.map(([, shows, command]) => [shows, `${setting}\n${command}`]))
  const url = /http:\/\/[\d.]+:\d+/.exec(said.out)?.[0] ?? ''
  const [head = ''] = text.split('\n\n', 1)
  return { child, said, url, lines, setting, head }
}

/** What curl prints for a line, pasted into a shell: the last answer's status and fields, and all bodies. */
async function pasted(command: string, heard = (_said: string) => {}) {
  const running = run('sh', ['-c', `${command} -sS --max-time 30`], { encoding: 'utf8' })
  running.child.stdout?.on('data', heard)
  const { stdout } = await running
  const heads = [...stdout.matchAll(/HTTP\/1\.1 (\d+) .*\r\n((?:.+\r\n)*)\r\n/g)]
  const head = (heads.at(-1)?.[2] ?? '').split('\r\n').map((field) => /^(.+?): (.*)$/.exec(field) ?? [])
  const fields = new Map(head.map(([, name, value]) => [name?.toLowerCase(), value]))
  return { statuses: heads.map(([, status]) => Number(status)), fields, text: stdout }
}

describe('npm start', () => {
  it('prints its address and curl lines that do what they say', async (t) => {
    const { said, lines, head } = await started(t)
    const shown = said.out.trimEnd().split('\n')
    assertIs(shown.length, atMost(15), said.out)
    for (const line of shown) assertIs(line.length, atMost(100), line)
    assert.match(
      said.out,
      /^The demo of express-tollgate listens on http:\/\/127\.0\.0\.1:\d+, its windows are in memory\./,
    )
    const line = (part: string) => {
      const [found, ...more] = [...lines].filter(([shows]) => shows?.includes(part))
      assert.ok(found?.[1] && more.length === 0, `one line about: ${part}`)
      return found[1]
    }
    const paste = (part: string) => pasted(line(part))

    const up = await paste('is it up?')
    assert.deepEqual([up.statuses, up.fields.has('x-throttle-window-size')], [[200], false])
    assert.equal(up.fields.has('x-powered-by'), false)
    const noToken = await paste('without a token')
    assert.deepEqual([noToken.statuses, /^Bearer/.test(noToken.fields.get('www-authenticate') ?? '')], [[401], true])
    assert.match((await paste('a person of the tree')).text, /Countess of Lovelace/)
    assert.deepEqual((await paste('an unauthenticated session, allowed')).statuses, [200])
    const refused = await paste('an unauthenticated session, refused')
    assert.deepEqual(refused.statuses, [403])
    assert.match(refused.fields.get('www-authenticate') ?? '', /error="insufficient_scope"/)
    for (const field of ['X-PROCESSING-TIME', 'X-THROTTLE-MILLIS-USED', 'RateLimit'])
      assert.ok(head.includes(`#   ${field}`), `${field} is explained`)
    const search = await paste('a slow search')
    assert.match(search.fields.get('ratelimit') ?? '', /;t=\d+$/)
    assert.deepEqual([search.statuses, search.fields.get('x-throttle-window-size')], [[200], '9000'])
    assertIs(Number(search.fields.get('x-processing-time')), atLeast(1_999))

    assert.match((await paste('nobody signed in')).text, /"token_type":"Bearer"/)
    assert.match((await paste('which then pays for itself')).text, /"expires_in":3600/)
    assert.deepEqual((await paste('a service account reads')).statuses, [200])
    assert.deepEqual((await paste('it signs out')).statuses, [204])
    assert.deepEqual((await paste('a service account reads')).statuses, [401], 'at once')

    // A window may end between two lines; then they are pasted once more.
    await attempt(async () => {
      const user = line('a user, and what is left')
      await pasted(user.replace('users/current', 'throttled?processingTime=500'))
      const first = await pasted(user)
      assert.match(first.text, /"id":"KWC6-X7D","app":"family-app"/)
      const second = await paste('the same user from a second app')
      assert.match(second.text, /"id":"KWC6-X7D","app":"photo-app"/)
      assertIs(Number(second.fields.get('x-throttle-millis-used')), atLeast(500), 'what the first app used')
    })
    await attempt(async () => {
      assert.deepEqual((await paste('force the throttle')).statuses, [200])
      const now = await paste('now she is refused')
      assert.deepEqual(now.statuses, [429])
      assert.match(now.fields.get('retry-after') ?? '', /^[1-5]$/)
      const waited = await paste('and wait it out')
      assert.deepEqual(waited.statuses, [429, 200])
    })
  })

  it('answers running requests and ends on SIGTERM and SIGINT', async (t) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const { child, said, lines, setting } = await started(t)
      const tokens = setting.replace('. ', '')
      assert.equal(statSync(tokens).mode & 0o777, 0o600, 'only for who started it')
      const slow = [...lines].find(([shows]) => shows?.startsWith('a slow search'))?.[1] ?? ''
      const exited = once(child, 'close')
      let isUnderWay = false
      const heard = (said: string) => void (isUnderWay ||= said.includes('100 Continue'))
      const search = pasted(`${slow} --no-buffer --header 'Expect: 100-continue'`, heard)
      await until(() => isUnderWay) // it takes 2,000 ms
      child.kill(signal)
      assert.deepEqual((await search).statuses, [100, 200])
      assert.deepEqual(await exited, [0, null])
      assert.match(said.out, /The demo has stopped\.\n$/)
      assert.equal(said.err, '')
      assert.equal(existsSync(tokens), false)
    }
  })

  it('keeps its windows in Redis where REDIS_URL says so', async (t) => {
    const redis = await startRedis()
    t.after(() => redis.stop())
    // A key expires with its window, which must not end before the keys are looked at.
    const env = { REDIS_URL: `redis://127.0.0.1:${redis.port}`, WINDOW_MS: '86400000' }
    const { said, child, lines } = await started(t, env)
    assert.match(said.out, /its windows are in Redis/)
    const user = [...lines].find(([shows]) => shows?.startsWith('a user'))?.[1] ?? ''
    assert.deepEqual((await pasted(user)).statuses, [200])
    const exited = once(child, 'close')
    child.kill('SIGTERM')
    assert.deepEqual(await exited, [0, null])
    const keys = await run(process.env.REDIS_CLI ?? 'redis-cli', ['-p', String(redis.port), 'keys', 'tollgate:*'])
    assert.match(keys.stdout, /tollgate:w4:\{/)
  })

  it('says what is wrong with its environment, and nothing of its inside', async (t) => {
    for (const [env, message] of [
      [{ LIMIT_MS: 'abc' }, /^LIMIT_MS must be a whole number from 1 to 86,400,000; it is "abc"\n$/],
      [{ WINDOW_MS: '1e4' }, /^WINDOW_MS must be a whole number from 10 to 2,592,000,000; it is "1e4"\n$/],
      [{ PORT: '70000' }, /^PORT must be a whole number from 0 to 65,535; it is "70000"\n$/],
      [
        { ORIGIN: 'localhost:8080' },
        /^ORIGIN must be an origin such as http:\/\/localhost:8080; it is "localhost:8080"\n$/,
      ],
      [{ DIALECT: 'xml' }, /^DIALECT must be standard or familysearch; it is "xml"\n$/],
      [{ REDIS_URL: 'ada:hush@localhost' }, /^REDIS_URL must be a redis:\/\/ or rediss:\/\/ URL\n$/],
    ] as const) {
      const { child, said } = await started(t, env)
      assert.equal(child.exitCode, 1)
      assert.match(said.err, message)
    }
  })

  it('says so where the port is taken', async (t) => {
    const { url } = await started(t)
    const second = await started(t, { PORT: new URL(url).port })
    assert.equal(second.child.exitCode, 1)
    assert.match(second.said.err, /^Port \d+ is in use; try PORT=3001 npm start\n$/)
  })
})

async function attempt(story: () => Promise<void>, times = 3): Promise<void> {
  for (let left = times - 1; ; left--) {
    try {
      return await story()
    } catch (err) {
      if (left === 0) throw err
    }
  }
}
