import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { page } from './support/markdown'
import { freePort } from './support/redis'
import { until } from './support/until'

const root = process.cwd()
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const home = join(root, '.cache', `readme-${process.pid}`)
const run = promisify(execFile)

after(() => rmSync(home, { recursive: true, force: true }))

/** The one example under a heading that has an app of its own, in a file that tsx runs. That all compile: docs.spec.ts */
const example = (heading: string) => {
  const whole = page(root, 'README.md').blocks.filter(
    (block) => block.heading === heading && /express\(\)/.test(block.text),
  )
  const [found, ...more] = whole
  assert.ok(found && more.length === 0, `one whole example under ${heading}`)
  mkdirSync(home, { recursive: true })
  return { code: found.text, file: join(home, `line-${found.line}.ts`) }
}

describe('README', () => {
  it('has ten lines that run when pasted, and print a line that does', async (t) => {
    const { code, file } = example('Ten lines')
    const port = String(await freePort())
    writeFileSync(file, code.replaceAll('3000', port))
    const child = spawn(process.execPath, ['--require', 'tsx/cjs', file], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    t.after(() => child.kill('SIGKILL'))
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    await until(() => out.endsWith('\n'))
    assert.match(out, /^curl -i localhost:\d+\/tree -H 'Authorization: Bearer [\w.-]+'\n$/)
    const paste = async () => (await run('sh', ['-c', `${out.trim()} -s`])).stdout
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
