// The package as published, and the guards of publishing and releasing it.
import assert from 'node:assert/strict'
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { assertIs, atMost } from './support/until'

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
    const kind =
      /^(dist\/.+\.(js|d\.ts)|docs\/.+\.(md|png)|examples\/sign-in\/[\w-]+\.(mjs|ejs)|package\.json|(README|CHANGELOG|SECURITY)\.md|LICENSE)$/
    assert.deepEqual(
      [...paths].filter((path) => !kind.test(path)),
      [],
    )
    for (const page of ['RELIABILITY', 'CONFORMANCE']) assert.ok(!paths.has(`docs/${page}.md`), page)
    for (const entry of Object.values(manifest.exports)) {
      for (const file of typeof entry === 'string' ? [entry] : Object.values(entry))
        assert.ok(paths.has(normalize(file)))
    }
  })

  it('has one picture of at most 60 kB, and 620 kB in all', () => {
    const pictures = files.filter(({ path }) => /\.(png|svg|jpe?g|gif|webp)$/.test(path))
    assert.equal(pictures.length, 1)
    assert.ok(pictures.every((picture) => picture.size <= 60_000))
    assertIs(size, atMost(620_000), `${size} bytes`)
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
    repository: { url: 'git+https://host.example/tollgate.git' },
    homepage: 'https://host.example',
    bugs: { url: 'https://host.example/issues' },
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
      'package.json has no repository.url, homepage, bugs.url: fill in the address of the public repository.\n',
    )
    assert.match(publish({ ...address, bugs: { url: '' } }, changelog).stderr, /^package\.json has no bugs\.url:/)
    assert.equal(publish({ repository: manifest.repository, homepage: '', bugs: {} }, changelog).status, 1)
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

describe('npm run release', () => {
  assert.equal(manifest.scripts.release, 'node scripts/release.mjs')

  /** A repository that has these addresses, and pushes to a folder beside it. */
  function repository(t: TestContext, url = 'https://host.example/owner/tollgate') {
    const home = mkdtempSync(join(tmpdir(), 'express-tollgate-release-'))
    t.after(() => rmSync(home, { recursive: true, force: true }))
    const [cwd, pushed] = [join(home, 'clone'), join(home, 'pushed')]
    const git = (...args: string[]) => execFileSync('git', args, { cwd, encoding: 'utf8' }).trim()
    mkdirSync(cwd)
    execFileSync('git', ['init', '--quiet', '--bare', pushed])
    git('init', '--quiet', '--initial-branch', 'main')
    git('config', 'user.name', 'Ada')
    git('config', 'user.email', 'ada@host.example')
    git('remote', 'add', 'origin', pushed)
    const pkg = { name: 'x', version: '0.1.0', repository: { type: 'git', url }, homepage: url, bugs: { url } }
    writeFileSync(join(cwd, 'package.json'), JSON.stringify(pkg))
    writeFileSync(join(cwd, 'CHANGELOG.md'), '# Changelog\n\n## [0.1.0] - Unreleased\n\n- First.\n')
    writeFileSync(join(cwd, 'README.md'), 'a\n\n<!-- until published -->\n\nx\n\n<!-- /until published -->\n\nb\n')
    git('add', '--all')
    git('commit', '--quiet', '--message', 'first')
    const release = (...args: string[]) =>
      spawnSync(process.execPath, [join(root, 'scripts/release.mjs'), ...args], { cwd, encoding: 'utf8' })
    const file = (name: string) => readFileSync(join(cwd, name), 'utf8')
    return { cwd, git, release, file, pushed }
  }

  it('dates the changelog, takes the note for clones out of README, tags and pushes', (t) => {
    const { git, release, file, pushed } = repository(t)
    const { status, stdout, stderr } = release()
    assert.deepEqual([status, stdout, stderr], [0, 'v0.1.0 is tagged and pushed.\n', ''])
    assert.equal(file('README.md'), 'a\n\nb\n')
    assert.match(file('CHANGELOG.md'), /^## \[0\.1\.0\] - \d{4}-\d\d-\d\d$/m)
    const heads = execFileSync('git', ['ls-remote', pushed], { encoding: 'utf8' })
    assert.ok(heads.includes('refs/tags/v0.1.0') && heads.includes(`${git('rev-parse', 'HEAD')}\trefs/heads/main`))
  })

  it('changes nothing in a dry run', (t) => {
    const { git, release } = repository(t)
    const { status, stdout } = release('--dry-run')
    assert.equal(status, 0)
    assert.match(stdout, /"tag": "v0\.1\.0"/)
    assert.deepEqual([git('status', '--porcelain'), git('tag')], ['', ''])
  })

  it('changes nothing where it is given another argument, or the changelog has no entries', (t) => {
    const { cwd, git, release } = repository(t)
    for (const args of [['--help'], ['--dry-run', '0.2.0']]) {
      const { status, stderr } = release(...args)
      assert.equal(status, 1)
      assert.match(stderr, /^release takes --dry-run alone; received .*npm run release makes and pushes a release/)
    }
    writeFileSync(join(cwd, 'CHANGELOG.md'), '# Changelog\n')
    git('commit', '--quiet', '--all', '--message', 'second')
    assert.match(release().stderr, /^CHANGELOG\.md has no entries/)
    assert.deepEqual([git('status', '--porcelain'), git('tag')], ['', ''])
  })

  it('says what is missing, and changes nothing', (t) => {
    const empty = repository(t, '')
    assert.match(empty.release().stderr, /^package\.json has no repository\.url, homepage, bugs\.url: /)
    assert.deepEqual([empty.git('status', '--porcelain'), empty.git('tag')], ['', ''])
    const changed = repository(t)
    writeFileSync(join(changed.cwd, 'x'), '')
    assert.match(changed.release().stderr, /^There are changes that are not committed/)
    const elsewhere = repository(t)
    elsewhere.git('switch', '--quiet', '--create', 'next')
    assert.match(elsewhere.release().stderr, /^A release is made on the branch main/)
    const tagged = repository(t)
    tagged.git('tag', 'v0.1.0')
    assert.match(tagged.release().stderr, /^The tag v0\.1\.0 exists/)
  })
})
