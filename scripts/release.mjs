// `npm run release`: makes the release of the version that package.json has, on the branch main. It writes the day into the
// changelog, takes the note for clones out of README, commits, tags the commit and pushes. The tag starts the workflow
// that publishes. `npm run release -- --dry-run` only says what it would do. A release that fails its check leaves the
// files as they were.
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

const USAGE = 'npm run release makes and pushes a release; npm run release -- --dry-run says what it would do.'
const given = process.argv.slice(2)
if (given.some((arg) => arg !== '--dry-run'))
  fail(`release takes --dry-run alone; received ${given.join(' ')}. ${USAGE}`)
const isDry = given.length > 0
const git = (...args) => execFileSync('git', args, { encoding: 'utf8', stdio: 'pipe' }).trim()

const pkg = JSON.parse(readFileSync('package.json', 'utf8'))
const tag = `v${pkg.version}`
if (git('status', '--porcelain') !== '') fail('There are changes that are not committed: commit them first.')
if (git('branch', '--show-current') !== 'main') fail('A release is made on the branch main: git switch main.')
if (git('tag', '--list', tag) !== '') fail(`The tag ${tag} exists: npm version --no-git-tag-version patch.`)

const day = new Date().toISOString().slice(0, 10)
const before = readFileSync('CHANGELOG.md', 'utf8')
const readme = readFileSync('README.md', 'utf8').replace(
  /<!-- until published -->[^]*?<!-- \/until published -->\n\n/,
  '',
)
const changelog = before.replace(`## [${pkg.version}] - Unreleased`, `## [${pkg.version}] - ${day}`)

if (isDry) {
  console.log(JSON.stringify({ tag, changelog: changelog === before ? 'as it is' : day }, null, 2))
} else {
  writeFileSync('CHANGELOG.md', changelog)
  writeFileSync('README.md', readme)
  const check = new URL('check-release.mjs', import.meta.url).pathname
  if (spawnSync(process.execPath, [check], { stdio: 'inherit' }).status !== 0) {
    git('checkout', '--quiet', '--', 'CHANGELOG.md', 'README.md')
    process.exit(1)
  }
  if (git('status', '--porcelain') !== '') git('commit', '--quiet', '--all', '--message', `release: ${tag}`)
  git('tag', '--annotate', tag, '--message', tag)
  git('push', '--quiet', '--atomic', 'origin', 'main', tag)
  console.log(`${tag} is tagged and pushed.`)
}

function fail(why) {
  console.error(why)
  process.exit(1)
}
