// Pages: their examples compile and run, their links lead somewhere, their commands are there.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { compile, compileAsInit, examplesOf, runExample, runTogether } from './docs/doc-examples'
import { pages } from './support/markdown'
import { type Server, startRedis } from './support/redis'
import { assertIs, atLeast } from './support/until'

const root = process.cwd()
const home = join(root, 'spec/clients/.cache', `docs-${process.pid}`)
rmSync(home, { recursive: true, force: true })
mkdirSync(home, { recursive: true })
after(() => rmSync(home, { recursive: true, force: true }))

const all = pages(root)
const {
  scripts,
  bin = {},
  devDependencies,
} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
  bin?: Record<string, string>
  devDependencies: Record<string, string>
}

describe('examples of README and docs', { concurrency: 2 }, () => {
  const examples = all.flatMap((page) => examplesOf(page, home))
  let redis: Server
  let said: string[] = []
  before(async () => {
    redis = await startRedis()
    said = compile(
      root,
      home,
      examples.map(({ source }) => source),
      redis.port,
    )
  })
  after(() => redis.stop())

  it('compile', () => {
    assertIs(examples.length, atLeast(10), `${examples.length} examples`)
    assert.deepEqual(said, [])
  })

  it('compile with TypeScript 7, as tsc --init sets it up, beside the types of browsers', () => {
    const sources = examples.map(({ source }) => source).filter((source) => source.endsWith('ts'))
    assert.deepEqual(compileAsInit(root, home, sources), [])
  })

  for (const { title, source, prints, tests } of examples.filter(({ alone }) => alone)) {
    it(`run: ${title}`, async () => {
      const { code, stdout, stderr } = await runExample(root, home, source)
      assert.equal(stderr, '')
      if (prints !== undefined) assert.equal(stdout, prints)
      if (tests) assert.match(stdout, /^[#ℹ] pass [1-9]\d*$/m) // the reporter of TAP, or that of Node from 23 on
      assert.equal(code, 0, stdout)
    })
  }

  for (const { path } of all) {
    const together = examples.filter(({ alone, title }) => !alone && title.startsWith(`${path}:`))
    if (together.length === 0) continue
    it(`run to their ends: ${path}`, async () => {
      const { code, stdout, stderr } = await runTogether(root, home, together)
      assert.equal(stderr, '')
      assert.equal(stdout, together.map(({ title }) => `${title}\n`).join(''))
      assert.equal(code, 0)
    })
  }
})

/** The site's build follows links between pages; these lead to programs, folders and pages outside of it, too. */
describe('links of README and docs', () => {
  for (const { path, links } of all) {
    it(`lead somewhere: ${path}`, () => {
      for (const link of links) {
        if (/^https:\/\/[^\s/]+(\/|$)/.test(link)) continue
        const [to = '', anchor] = link.split('#')
        const target = to === '' ? path : normalize(join(dirname(path), to)).replaceAll('\\', '/')
        assert.ok(existsSync(join(root, target)), `${path}: ${link}`)
        if (anchor === undefined) continue
        const page = all.find((each) => each.path === target)
        assert.ok(page?.anchors.has(anchor), `${path}: ${link} names a heading of ${target}`)
      }
    })
  }
})

/** A script or a spec that was renamed stayed in CONTRIBUTING. */
describe('commands of README and docs', () => {
  for (const { path, blocks, inlineCode } of all) {
    const shell = blocks.filter(({ language }) => language === 'sh')
    const inline = inlineCode.filter((code) => /^(npm|npx|node) \S/.test(code))
    const isPath = (code: string) => /^(bench|demo|docs|examples|lib|scripts|spec)\/[\w./-]*$/.test(code)
    const paths = path === 'CHANGELOG.md' ? [] : inlineCode.filter(isPath) // it names what is gone

    it(`are there: ${path}`, () => {
      for (const { text, line } of shell) {
        execFileSync('sh', ['-n'], { input: text })
        const lines = text
          .replace(/\\\n/g, ' ')
          .replace(/ +#.*$/gm, '')
          .split(/\n|&&|\|/)
        for (const each of lines) assert.equal(wrongWith(each.trim()), undefined, `${path}:${line}: ${each}`)
      }
      for (const code of inline) assert.equal(wrongWith(code), undefined, `${path}: ${code}`)
      for (const file of paths) assert.ok(file === 'docs/api/' || existsSync(join(root, file)), `${path}: ${file}`)
    })
  }
})

/** What is wrong with a command that a page prints, or undefined. A command of another kind wants a case here. */
function wrongWith(line: string): string | undefined {
  const [command, first = '', ...rest] = line
    .replace(/^for .*; do (.*); done$/, '$1')
    .replace(/^([A-Z_]+=\S* +)+/, '')
    .split(/ +/)
  const there = (path: string) => (existsSync(join(root, path)) ? undefined : `there is no ${path}`)
  if (command === undefined || command === '' || command.startsWith('#')) return undefined
  if (command === 'npm') {
    if (['ci', 'deprecate', 'install', 'ls', 'publish', 'pack', 'sbom', 'version', 'why'].includes(first))
      return undefined
    const script = first === 'run' ? (rest[0] ?? '') : first
    return script in scripts ? undefined : `package.json has no script ${script}`
  }
  if (command === 'npx' && first === '-p' && /^node@\d+$/.test(rest[0] ?? '')) return wrongWith(rest.slice(1).join(' '))
  if (command === 'npx' && first in devDependencies) return undefined
  if (command === 'npx') return first in bin ? undefined : `package.json has no bin ${first}`
  if (command === 'node' && first === 'app.mjs') return undefined // what the reader has just saved
  if (command === 'node') return there([first, ...rest].find((each) => !each.startsWith('-')) ?? '')
  if (command === 'cd') return there(first)
  if (['curl', 'git', 'redis-cli', 'redis-server', 'valkey-cli'].includes(command)) return undefined
  return `nobody checks ${command}`
}
