// Finds libfaketime for `npm run chaos`, or unpacks Debian's into .cache/faketime (no root needed).
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const cache = join(import.meta.dirname, '..', '.cache', 'faketime')
const place = `lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/faketime/libfaketimeMT.so.1`

/** @returns {string | undefined} the library's path */
export function findFaketime() {
  return ['/usr', join(cache, 'root/usr')].map((root) => join(root, place)).find((file) => existsSync(file))
}

/** Finds the library, or gets it; ends the process with a clear message when it cannot. */
export function needFaketime() {
  const found = findFaketime()
  if (found) return found
  rmSync(cache, { recursive: true, force: true })
  for (const d of ['lists/partial', 'apt/archives/partial', 'root']) mkdirSync(join(cache, d), { recursive: true })
  const options = [`Dir::State::Lists=${cache}/lists`, `Dir::Cache=${cache}/apt`, 'APT::Sandbox::User=']
  const run = (command, ...args) => spawnSync(command, args, { cwd: cache, encoding: 'utf8' })
  const apt = (...args) => run('apt-get', '-q', ...options.flatMap((option) => ['-o', option]), ...args)
  for (const args of [['update'], ['download', 'libfaketime']]) apt(...args)
  for (const deb of readdirSync(cache).filter((f) => f.endsWith('.deb'))) run('dpkg', '-x', deb, 'root')
  for (const d of ['lists', 'apt']) rmSync(join(cache, d), { recursive: true, force: true })
  if (findFaketime()) return findFaketime()
  console.error('npm run chaos needs libfaketime, and apt-get did not bring it: sudo apt-get install libfaketime')
  process.exit(1)
}
