import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import ts from 'typescript'
import { freePort } from './support/redis'
import { until } from './support/until'

const root = process.cwd()
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const home = join(root, '.cache', `readme-${process.pid}`)
const run = promisify(execFile)

/** The examples, each with the heading above it. What has no app of its own is given one. */
const examples = [...readme.matchAll(/^```ts\n([^]*?)^```$/gm)].map((match, i) => {
  const [, text = ''] = match
  const heading =
    readme
      .slice(0, match.index)
      .match(/^##+ .*$/gm)
      ?.at(-1) ?? ''
  const whole = text.includes('express()')
  const code = whole ? text : `import express from 'express'\nconst app = express()\n${text}`
  const file = join(home, `example-${i + 1}.ts`)
  mkdirSync(home, { recursive: true })
  writeFileSync(file, code)
  return { heading, whole, code, file, title: `${heading.slice(3)} (${i + 1})` }
})
after(() => rmSync(home, { recursive: true, force: true }))

const example = (heading: string) => {
  const [found, ...more] = examples.filter((each) => each.heading === `## ${heading}` && each.whole)
  assert.ok(found && more.length === 0, `one whole example under ${heading}`)
  return found
}

describe('README', () => {
  it('has examples that compile', () => {
    assert.ok(examples.length >= 9, `${examples.length} examples`)
    const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (file) => ts.sys.readFile(file)) as {
      config: { compilerOptions: Record<string, unknown> }
    }
    const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
    const program = ts.createProgram(
      examples.map(({ file }) => file),
      { ...options, configFilePath: join(root, 'tsconfig.json') },
    )
    const said = ts.getPreEmitDiagnostics(program).map((d) => {
      return `${d.file?.fileName}: ${ts.flattenDiagnosticMessageText(d.messageText, '\n')}`
    })
    assert.deepEqual(said, [])
  })

  for (const { file, title, whole, code } of examples) {
    if (whole) continue
    it(`has an example that starts: ${title}`, async () => {
      writeFileSync(file, `${code}\nconsole.log('ran to its end')\nprocess.exit(0)\n`)
      const { stdout, stderr } = await run(process.execPath, ['--import', 'tsx', file], { cwd: root })
      assert.equal(stdout, 'ran to its end\n')
      assert.equal(stderr, '')
      writeFileSync(file, code)
    })
  }

  it('has ten lines that run when pasted, and print a line that does', async (t) => {
    const { code, file } = example('Ten lines')
    const port = String(await freePort())
    writeFileSync(file, code.replaceAll('3000', port))
    const child = spawn(process.execPath, ['--import', 'tsx', file], {
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

  it('has a test that says what it says it says', async () => {
    const { code, file } = example('Testing your app')
    const expected = [...code.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map(([, said]) => `${said}\n`).join('')
    assert.equal(expected, '200 429 200\n200\n')
    const { stdout } = await run(process.execPath, ['--import', 'tsx', file], { cwd: root, timeout: 20_000 })
    assert.equal(stdout, expected)
  })

  it('names every option there is', () => {
    for (const [file, type] of [
      ['lib/throttle/throttle-options.ts', 'ThrottleOptions'],
      ['lib/bearer/bearer-options.ts', ''],
      ['lib/bearer/allow-unauthenticated.ts', 'AllowUnauthenticatedOptions'],
      ['lib/http/service-unavailable.ts', 'ServiceUnavailableOptions'],
      ['lib/http/error-body.ts', 'ErrorFormat'],
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
