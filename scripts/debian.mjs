// Unpacks packages of Debian into a folder, without root.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** The folder of libraries below `root/usr/lib` that is this machine's. */
export const LIBRARIES = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`

/**
 * Unpacks packages into `root/` below a folder, which is emptied first.
 *
 * @param {string} folder
 * @param {string[]} packages
 * @param {string} [suite] a release, such as `trixie`. Default: what this machine's apt is set up for
 * @returns {string | undefined} why it could not be done
 */
export function unpack(folder, packages, suite) {
  if (spawnSync('apt-get', ['--version']).status !== 0) return 'there is no apt-get on this machine'
  rmSync(folder, { recursive: true, force: true })
  for (const d of ['lists/partial', 'apt/archives/partial', 'root']) mkdirSync(join(folder, d), { recursive: true })
  const options = [`Dir::State::Lists=${folder}/lists`, `Dir::Cache=${folder}/apt`, 'APT::Sandbox::User=']
  options.push('Acquire::Retries=3')
  if (suite !== undefined) {
    const sources = join(folder, 'sources.list')
    writeFileSync(sources, `deb [signed-by=${KEYRING}] ${mirror()} ${suite} main\n`)
    options.push(`Dir::Etc::sourcelist=${sources}`, 'Dir::Etc::sourceparts=-')
  }
  const run = (command, ...args) => {
    const r = spawnSync(command, args, { cwd: folder, encoding: 'utf8' })
    return r.status === 0 ? undefined : `${command} ${args.at(-1)} failed: ${r.stderr.trim().split('\n').at(-1)}`
  }
  const apt = (...args) => run('apt-get', '-q', ...options.flatMap((option) => ['-o', option]), ...args)
  const debs = () => readdirSync(folder).filter((f) => f.endsWith('.deb'))
  let why = apt('update') ?? apt('download', ...packages)
  for (const deb of why === undefined ? debs() : []) why ??= run('dpkg', '-x', deb, 'root')
  for (const d of ['lists', 'apt', ...debs()]) rmSync(join(folder, d), { recursive: true, force: true })
  return why
}

/** Where this machine gets Debian from. */
function mirror() {
  const { stdout } = spawnSync('apt-get', ['indextargets', '--format', '$(REPO_URI)'], { encoding: 'utf8' })
  return stdout.split('\n').find((uri) => /\/debian\/?$/.test(uri)) ?? 'http://deb.debian.org/debian'
}
