// What would be published: fails where it is too large, or holds what nobody needs at run time.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Of the packed file, in bytes. Nothing is loaded that an app does not import; this is about downloads. The
 * documentation, with the README's picture, is in it so that the links of the README lead somewhere.
 */
const BUDGET = 440_000

const root = join(import.meta.dirname, '..')
const args = ['pack', '--dry-run', '--ignore-scripts', '--json', '--silent']
const { stdout, status } = spawnSync('npm', args, { cwd: root, encoding: 'utf8' })
if (status !== 0) process.exit(status ?? 1)
const [{ size, files }] = [JSON.parse(stdout)].flat()
const paths = files.map(({ path }) => path)
const wrong = paths.filter(
  (path) =>
    !/^(dist\/.+\.(js|d\.ts)|docs\/.+\.(md|svg|png)|package\.json|README\.md|CHANGELOG\.md|LICENSE)$/.test(path),
)
if (wrong.length > 0) fail(`these do not belong into the tarball: ${wrong.join(', ')}`)
const readme = readFileSync(join(root, 'README.md'), 'utf8')
const linked = [...readme.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, to]) => to.replace(/\/$/, '/README.md'))
const missing = linked.filter((to) => !paths.includes(to))
if (missing.length > 0) fail(`README links to what is not in the tarball: ${missing.join(', ')}`)
if (size > BUDGET) fail(`${size} bytes, and at most ${BUDGET} are wanted`)
console.log(`tarball: ${size} bytes of at most ${BUDGET}, ${paths.length} files`)

function fail(why) {
  console.error(`tarball: ${why}`)
  process.exit(1)
}
