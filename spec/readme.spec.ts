import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import express from 'express'
import { throttle } from '../lib'
import { manualClock } from '../lib/testing'
import { listen } from './support/listen'
import { page } from './support/markdown'
import { freePort } from './support/redis'
import { until } from './support/until'

const root = process.cwd()
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const home = join(root, '.cache', `readme-${process.pid}`)
const run = promisify(execFile)
let apps = 0

after(() => rmSync(home, { recursive: true, force: true }))

/** The blocks under a heading. That all compile and run to their ends: docs.spec.ts */
const blocksOf = (heading: string) => page(root, 'README.md').blocks.filter((block) => block.heading === heading)

/** The one example under a heading that has an app of its own. */
const example = (heading: string) => {
  const [found, ...more] = blocksOf(heading).filter(({ text }) => /express\(\)/.test(text))
  assert.ok(found && more.length === 0, `one whole example under ${heading}`)
  return found.text
}

/** Runs an app that says something when it listens; returns what it said. */
async function start(t: TestContext, code: string): Promise<string> {
  mkdirSync(home, { recursive: true })
  const file = join(home, `app-${++apps}.ts`)
  writeFileSync(file, code)
  const child = spawn(process.execPath, ['--require', 'tsx/cjs', file], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  await until(() => out.endsWith('\n'), 40_000)
  return out.trim()
}

/** An app around a block that mounts a throttle: it signs anybody in, and says who pays. */
const around = (block: string, { before = '', login = '' }) => `
import express from 'express'
${["import session from 'express-session'", "import passport from 'passport'"].filter((line) => !block.includes(line)).join('\n')}
const app = express()
${before}
${block}
app.get('/login/:id', (req, res, next) => { ${login} })
app.get('/', (req, res) => res.send(req.throttle.subject))
const server = app.listen(0, '127.0.0.1', () => console.log('http://127.0.0.1:' + server.address().port))
`

describe('README', () => {
  it('has a first example without a token that runs when pasted, and prints a line that does', async (t) => {
    const port = String(await freePort())
    const line = await start(t, example('First example').replaceAll('3000', port))
    const { stdout } = await run('sh', ['-c', line])
    const answers = stdout.trim().split('\n')
    assert.equal(answers.length, 5, stdout)
    assert.match(answers[0] ?? '', /^\{"leftMs":[\d.]+\}$/)
    // Three requests of 400 ms exceed the second that a window grants. A window may end on the way, but no two do.
    let refused: Response | undefined
    for (let i = 0; i < 8 && !refused; i++) {
      const answer = await fetch(`http://localhost:${port}/report`)
      if (answer.status === 429) refused = answer
    }
    assert.match(refused?.headers.get('Retry-After') ?? '', /^([1-9]|10|11)$/)
    const body = (await refused?.json()) as { errors: { code: number; message: string }[] }
    assert.equal(body.errors[0]?.code, 429)
  })

  it('says truly how many requests of 1,400 and of 35 ms fit in 18 s', async () => {
    const admitted = async (costMs: number) => {
      const clock = manualClock()
      const app = express()
      app.use(throttle({ clock, windowMs: 86_400_000 }) /* so that no window ends on the way */)
      app.get('/', (_req, res) => {
        clock.advance(costMs)
        res.end()
      })
      const { get, close } = await listen(app)
      let n = 0
      while ((await get('/')).status === 200) n++
      await close()
      return n
    }
    const row = (what: string, n: number) =>
      assert.match(readme, new RegExp(`only ${what} .*\\| ${n} [a-z]+: 18 s of work +\\|`))
    row('searches', await admitted(1_400))
    row('reads', await admitted(35))
  })

  const SIGN_INS = [
    [
      'Passport',
      {
        before: `passport.serializeUser((user, done) => done(null, user.id))
          passport.deserializeUser((id, done) => done(null, { id }))
          app.use(session({ secret: 'x', resave: false, saveUninitialized: false }))`,
        login: `req.login({ id: req.params.id }, (err) => (err ? next(err) : res.end()))`,
      },
    ],
    ['express-session', { login: `req.session.userId = req.params.id; res.end()` }],
  ] as const
  for (const [i, [name, parts]] of SIGN_INS.entries()) {
    it(`mounts it beside ${name} in five lines: users pay, and addresses where nobody is signed in`, async (t) => {
      const block = blocksOf('With your sign-in')[i]?.text ?? ''
      assert.ok(block.trim().split('\n').length <= 6, block)
      const url = await start(t, around(block, parts))
      assert.equal(await (await fetch(url)).text(), 'address:127.0.0.1')
      for (const id of ['ada', 'grace']) {
        const cookie = (await fetch(`${url}/login/${id}`)).headers.get('Set-Cookie')?.split(';')[0] ?? ''
        assert.equal(await (await fetch(url, { headers: { cookie } })).text(), `user:${id}`)
      }
    })
  }

  it('has ten lines with tokens that run when pasted, and print a line that does', async (t) => {
    const port = String(await freePort())
    const out = await start(t, example('Ten lines with tokens').replaceAll('3000', port))
    assert.match(out, /^curl -i localhost:\d+\/tree -H 'Authorization: Bearer [\w.-]+'$/)
    const paste = async () => (await run('sh', ['-c', `${out} -s`])).stdout
    const first = await paste()
    assert.match(first, /^HTTP\/1.1 200 OK\r\n/)
    assert.match(first, /\r\nX-THROTTLE-WINDOW-SIZE: 1000\r\n/)
    const [, leftMs] = /\{"leftMs":([\d.]+)\}$/.exec(first) ?? []
    assert.ok(Number(leftMs) < 1_000, `${leftMs} ms left`)
    // Three requests of 400 ms exceed the second that a window grants. A window may end on the way, but no two do.
    let refused = ''
    for (let i = 0; i < 8 && !refused; i++) {
      const next = await paste()
      if (next.startsWith('HTTP/1.1 429')) refused = next
    }
    assert.match(refused, /\r\nRetry-After: ([1-9]|10|11)\r\n/)
    assert.match(refused, /<code>429<\/code>/)
  })

  it('names every option there is', () => {
    for (const [file, type] of [
      ['lib/throttle/throttle-options.ts', 'ThrottleOptions'],
      ['lib/bearer/bearer-options.ts', ''],
      ['lib/bearer/allow-unauthenticated.ts', 'AllowUnauthenticatedOptions'],
      ['lib/http/service-unavailable.ts', 'ServiceUnavailableOptions'],
      ['lib/http/error-format.ts', 'ErrorFormat'],
      ['lib/http/deny.ts', 'DenyOptions'],
    ] as const) {
      const text = readFileSync(join(root, file), 'utf8')
      const from = type === '' ? 0 : text.indexOf(`interface ${type}`)
      const body = type === '' ? text : text.slice(from, text.indexOf('\n}', from))
      const names = [...body.matchAll(/^ +readonly (\w+)\??: (?!never)/gm)].map(([, name]) => name as string)
      assert.ok(names.length > 0, file)
      for (const name of names) assert.ok(readme.includes(`\`${name}\``), `${type || file}: ${name}`)
    }
  })
})
