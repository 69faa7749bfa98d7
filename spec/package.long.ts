import assert from 'node:assert/strict'
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'

interface Packed {
  readonly size: number
  readonly files: readonly { readonly path: string; readonly size: number }[]
}

const root = process.cwd()
const run = promisify(execFile)
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, unknown> & {
  exports: Record<string, string | Record<string, string>>
  scripts: Record<string, string>
  version: string
}
const pack = ['pack', '--dry-run', '--ignore-scripts', '--json', '--silent']
const [{ size, files }] = [JSON.parse(execFileSync('npm', pack, { encoding: 'utf8' })) as Packed[]].flat() as [Packed]
const paths = new Set(files.map(({ path }) => path))

describe('the published package', () => {
  it('has what apps load and users read, and nothing else', () => {
    const kind = /^(dist\/.+\.(js|d\.ts)|docs\/.+\.(md|png)|package\.json|(README|CHANGELOG|SECURITY)\.md|LICENSE)$/
    assert.deepEqual(
      [...paths].filter((path) => !kind.test(path)),
      [],
    )
    for (const page of ['PERFORMANCE', 'RELIABILITY', 'CONFORMANCE']) assert.ok(!paths.has(`docs/${page}.md`), page)
    for (const entry of Object.values(manifest.exports)) {
      for (const file of typeof entry === 'string' ? [entry] : Object.values(entry))
        assert.ok(paths.has(normalize(file)))
    }
  })

  it('has one picture of at most 60 kB, and 550 kB in all', () => {
    const pictures = files.filter(({ path }) => /\.(png|svg|jpe?g|gif|webp)$/.test(path))
    assert.equal(pictures.length, 1)
    assert.ok(pictures.every((picture) => picture.size <= 60_000))
    assert.ok(size <= 550_000, `${size} bytes`)
  })

  for (const page of [...paths].filter((path) => path.endsWith('.md'))) {
    it(`has what ${page} links to`, () => {
      for (const [, to = ''] of readFileSync(page, 'utf8').matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)) {
        assert.ok(paths.has(normalize(join(dirname(page), to))), to)
      }
    })
  }
})

describe('without Express', () => {
  it('the package says what to install', async (t) => {
    const home = mkdtempSync(join(tmpdir(), 'express-tollgate-alone-'))
    t.after(() => rmSync(home, { recursive: true, force: true }))
    const own = join(home, 'node_modules/express-tollgate')
    mkdirSync(own, { recursive: true })
    cpSync(join(root, 'dist'), join(own, 'dist'), { recursive: true })
    cpSync(join(root, 'package.json'), join(own, 'package.json'))
    for (const name of ['ioredis', 'jsonwebtoken', 'http-errors']) {
      symlinkSync(join(root, 'node_modules', name), join(home, 'node_modules', name))
    }
    for (const script of ["require('express-tollgate')", "import('express-tollgate')"]) {
      const failed = run(process.execPath, ['--eval', script], { cwd: home })
      await assert.rejects(failed, /Error: express-tollgate needs Express 4\.18 or newer, or 5, .*npm install express/)
    }
    await run(process.execPath, ['--eval', "require('express-tollgate/client')"], { cwd: home })
  })
})

describe('npm publish', () => {
  const address = {
    repository: 'https://host.example/tollgate',
    homepage: 'https://host.example',
    bugs: 'https://host.example/issues',
  }
  const changelog = `# Changelog\n\n## [${manifest.version}] - 2026-11-26\n\n- First.\n`
  assert.equal(manifest.scripts.prepublishOnly, 'node scripts/check-release.mjs')

  /** What the guard says in a project with these fields. */
  function publish(fields: object, text: string) {
    const cwd = mkdtempSync(join(tmpdir(), 'express-tollgate-publish-'))
    try {
      writeFileSync(join(cwd, 'package.json'), JSON.stringify({ version: manifest.version, ...fields }))
      writeFileSync(join(cwd, 'CHANGELOG.md'), text)
      const guard = join(root, 'scripts/check-release.mjs')
      const { status, stderr } = spawnSync(process.execPath, [guard], { cwd, encoding: 'utf8' })
      return { status, stderr }
    } finally {
      rmSync(cwd, { recursive: true })
    }
  }

  it('fails with one sentence while the public address is missing', () => {
    const { status, stderr } = publish({}, changelog)
    assert.equal(status, 1)
    assert.equal(
      stderr,
      'package.json lacks repository, homepage, bugs: put the public address there, as docs/releasing.md shows.\n',
    )
    assert.match(publish({ ...address, bugs: undefined }, changelog).stderr, /^package\.json lacks bugs:/)
  })

  it('fails where the changelog lacks the version or keeps entries unreleased, and goes on otherwise', () => {
    assert.match(publish(address, changelog.replace(manifest.version, '9.9.9')).stderr, /^CHANGELOG\.md has no entries/)
    assert.match(publish(address, changelog.replace('- First.', '')).stderr, /^CHANGELOG\.md has no entries/)
    assert.match(
      publish(address, changelog.replace(/- 2026.*/, '- Unreleased')).stderr,
      /^CHANGELOG\.md has no entries/,
    )
    for (const next of ['[Unreleased]', '[9.9.9] - Unreleased']) {
      const text = changelog.replace('\n\n', `\n\n## ${next}\n\n- x\n\n`)
      assert.match(publish(address, text).stderr, /^CHANGELOG\.md has entries under Unreleased/)
    }
    assert.equal(publish(address, changelog.replace('First', 'First [unreleased\n- x')).status, 0)
    assert.deepEqual(publish(address, changelog), { status: 0, stderr: '' })
  })
})
