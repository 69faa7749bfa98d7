// README and the first pages: what they paste runs, and what they claim is so.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import express from 'express'
import { throttle } from '../lib'
import { manualClock } from '../lib/testing'
import { codeForm } from './oauth/user-agent'
import { listen } from './support/serve'
import { page } from './support/markdown'
import { freePort } from './support/redis'
import { assertIs, atMost, below, until } from './support/until'
import { TYPESCRIPT } from './support/typescript'

const root = process.cwd()
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const home = join(root, 'spec/clients/.cache', `readme-${process.pid}`)
const run = promisify(execFile)
let apps = 0

after(() => rmSync(home, { recursive: true, force: true }))

/** The blocks under a heading. That all compile and run to their ends: docs.long.ts */
const blocksOf = (heading: string, path = 'README.md') =>
  page(root, path).blocks.filter((block) => block.heading === heading)

/** The one example under a heading that has an app of its own. */
const example = (heading: string, path?: string) => {
  const [found, ...more] = blocksOf(heading, path).filter(({ text }) => /express\(\)/.test(text))
  assert.ok(found && more.length === 0, `one whole example under ${heading}`)
  return found.text
}

/** Runs an app that says something when it listens; returns what it said. */
async function start(t: TestContext, code: string): Promise<string> {
  mkdirSync(home, { recursive: true })
  const file = join(home, `app-${++apps}.ts`)
  writeFileSync(file, code)
  const child = spawn(process.execPath, [...TYPESCRIPT, file], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  await until(() => out.endsWith('\n'))
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
  it('has a quick start that runs when pasted, with a loop that does, and behaves the same each time', async (t) => {
    const port = String(await freePort())
    await start(t, example('Quick start').replaceAll('3000', port))
    const loop = readme.match(/^for n in .*$/m)?.[0] ?? ''
    const { stdout } = await run('sh', ['-c', loop.replaceAll('3000', port)])
    const answers = stdout.trim().split('\n')
    assert.deepEqual(
      answers.map((answer) => answer.split(' ').at(-1)),
      ['200', '200', '200', '429'],
      stdout,
    )
    assert.match(answers[0] ?? '', /^\{"leftMs":[\d.]+\} 200$/)
    const refused = await fetch(`http://localhost:${port}/report`)
    assert.match(refused.headers.get('Retry-After') ?? '', /^\d{1,3}$/)
    const body = (await refused.json()) as { errors: { code: number; message: string }[] }
    assert.equal(body.errors[0]?.code, 429)
  })

  it('says truly how many requests of 1,400 and of 35 ms fit in 18 s', async () => {
    const admitted = async (costMs: number) => {
      const clock = manualClock(Date.UTC(2026, 0, 1))
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
      blocksOf('Who pays')[0]?.text ?? '',
      {
        before: `passport.serializeUser((user, done) => done(null, user.id))
          passport.deserializeUser((id, done) => done(null, { id }))
          app.use(session({ secret: 'x', resave: false, saveUninitialized: false }))`,
        login: `req.login({ id: req.params.id }, (err) => (err ? next(err) : res.end()))`,
      },
    ],
    [
      'express-session',
      blocksOf('express-session', 'docs/who-pays.md')[0]?.text ?? '',
      { login: `req.session.userId = req.params.id; res.end()` },
    ],
  ] as const
  for (const [name, block, parts] of SIGN_INS) {
    it(`mounts it beside ${name} in five lines: users pay, and addresses where nobody is signed in`, async (t) => {
      assertIs(block.trim().split('\n').length, atMost(6), block)
      const url = await start(t, around(block, parts))
      assert.equal(await (await fetch(url)).text(), 'address:127.0.0.1')
      for (const id of ['ada', 'grace']) {
        const cookie = (await fetch(`${url}/login/${id}`)).headers.get('Set-Cookie')?.split(';')[0] ?? ''
        assert.equal(await (await fetch(url, { headers: { cookie } })).text(), id)
      }
    })
  }

  it('docs/getting-started.md has an app with tokens that runs when pasted, and prints a line that does', async (t) => {
    const port = String(await freePort())
    const out = await start(t, example('2. Throttle an app', 'docs/getting-started.md').replaceAll('3000', port))
    assert.match(out, /^curl -i localhost:\d+\/tree -H 'Authorization: Bearer [\w.-]+'$/)
    const paste = async () => (await run('sh', ['-c', `${out} -s`])).stdout
    const first = await paste()
    assert.match(first, /^HTTP\/1.1 200 OK\r\n/)
    assert.match(first, /\r\nX-THROTTLE-WINDOW-SIZE: 1000\r\n/)
    const [, leftMs] = /\{"leftMs":([\d.]+)\}$/.exec(first) ?? []
    assertIs(Number(leftMs), below(1_000), `${leftMs} ms left`)
    // A window may end on the way, but no two do.
    let refused = ''
    for (let i = 0; i < 8 && !refused; i++) {
      const next = await paste()
      if (next.startsWith('HTTP/1.1 429')) refused = next
    }
    assert.match(refused, /\r\nRetry-After: \d{1,3}\r\n/)
    assert.match(refused, /"code":429/)
  })

  it('docs/authorization-server.md has a server, an API of another process and an app that gets past both', async (t) => {
    const [auth, api] = [await freePort(), await freePort()].map(String) as [string, string]
    const block = (name: string) => {
      const found = page(root, 'docs/authorization-server.md').blocks.find(({ file }) => file === name)
      assert.ok(found, name)
      return found.text.replaceAll('3000', auth).replaceAll('3001', api)
    }
    const issuer = await start(t, block('auth.ts'))
    const url = `${await start(t, block('api.ts'))}/notes`
    const redirect = 'http://localhost:5173/callback'
    const params = {
      client_id: 'web',
      redirect_uri: redirect,
      scope: 'openid profile notes.read offline_access notes.all',
    }
    const form = await codeForm(issuer, params)
    const tokens = async (body: Record<string, string>) => {
      const answer = await fetch(`${issuer}/token`, {
        method: 'POST',
        body: new URLSearchParams({ ...body, client_id: 'web' }),
      })
      assert.equal(answer.status, 200)
      return (await answer.json()) as Record<string, string>
    }
    const first = await tokens(form)
    assert.equal(first.scope, 'openid profile notes.read offline_access')
    const refreshed = await tokens({ grant_type: 'refresh_token', refresh_token: first.refresh_token ?? '' })
    for (const { access_token, refresh_token, expires_in } of [first, refreshed]) {
      assert.ok(refresh_token)
      assert.equal(expires_in, 3_600)
      const notes = await fetch(url, { headers: { Authorization: `Bearer ${access_token}` } })
      assert.deepEqual(await notes.json(), { notesOf: 'u-1' })
    }
    assert.equal((await fetch(url)).status, 401)
    const preflight = { Origin: 'http://localhost:5173', 'Access-Control-Request-Method': 'GET' }
    assert.equal((await fetch(url, { method: 'OPTIONS', headers: preflight })).status, 204)
  })
})
