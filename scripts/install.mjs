// node scripts/install.mjs FOLDER: installs what the folder's package-lock.json has, unless it is there already. What
// only long runs, the demo, the bench or the site need has a package of its own, so that `npm ci` here stays short.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(import.meta.dirname, '..')

/** Whether the folder has what its lock file says. */
export function isInstalled(folder) {
  const file = markOf(folder)
  return existsSync(file) && readFileSync(file, 'utf8') === lockOf(folder)
}

export function install(folder) {
  if (isInstalled(folder)) return
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--silent']
  const { status } = spawnSync('npm', args, { cwd: join(root, folder), stdio: ['ignore', 2, 2] })
  if (status !== 0) process.exit(status ?? 1)
  // Examples find the package by its name, as its users do.
  if (folder.startsWith('examples/')) symlinkSync(root, join(root, folder, 'node_modules/express-tollgate'), 'dir')
  writeFileSync(markOf(folder), lockOf(folder))
}

function lockOf(folder) {
  return readFileSync(join(root, folder, 'package-lock.json'), 'utf8')
}

function markOf(folder) {
  return join(root, folder, 'node_modules/.installed')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.argv.slice(2).forEach(install)
