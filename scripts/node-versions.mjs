// Node in the versions that this package is tested on, from npm's packages of its binaries, kept in .cache/node.
//   npm run with-node -- 24 npm test -- throttle/     runs a command with that Node first on the PATH
//   npm run with-node -- 24                           says where it is
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** By their majors. 24 is the reference; package.json's `engines` says the oldest that works. */
export const NODE_VERSIONS = { 20: '20.20.2', 22: '22.23.3', 24: '24.21.0', 26: '26.10.0' }

const cache = join(import.meta.dirname, '..', '.cache', 'node')

/**
 * The binary of a major version: the one that runs this where it has that major, else the one in the cache, which is
 * filled where need be. Ends the process with a clear message when it cannot.
 *
 * @param {string | number} major
 * @returns {string} its path
 */
export function needNode(major) {
  const version = NODE_VERSIONS[major]
  if (!version) fail(`Node ${major} is none of ${Object.keys(NODE_VERSIONS).join(', ')}`)
  if (process.versions.node.split('.')[0] === String(major)) return process.execPath
  const home = join(cache, version)
  const binary = join(home, 'bin/node')
  if (!existsSync(binary)) unpack(version, home)
  return binary
}

/** An environment in which `node`, and with it npm and its scripts, is this binary. */
export function withNode(binary, env = process.env) {
  return { ...env, PATH: `${dirname(binary)}${delimiter}${env.PATH ?? ''}` }
}

function unpack(version, home) {
  const name = `node-${process.platform}-${process.arch}@${version}`
  const work = `${home}.${process.pid}`
  rmSync(work, { recursive: true, force: true })
  mkdirSync(work, { recursive: true })
  run('npm', ['pack', name, '--silent', '--pack-destination', work], name)
  const tarball = readdirSync(work).find((file) => file.endsWith('.tgz'))
  run('tar', ['-xzf', tarball, '--strip-components=1', 'package/bin/node'], name, work)
  rmSync(join(work, tarball))
  try {
    renameSync(work, home)
  } catch {
    rmSync(work, { recursive: true, force: true }) // another process was first
  }
}

function run(command, args, name, cwd = dirname(cache)) {
  const { status, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0) fail(`npm did not bring ${name}: ${String(stderr).trim().split('\n').at(-1)}`)
}

function fail(why) {
  console.error(why)
  process.exit(1)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [major, command, ...args] = process.argv.slice(2)
  const binary = needNode(major ?? '')
  if (!command) console.log(binary)
  else {
    const { status, error } = spawnSync(command, args, { stdio: 'inherit', env: withNode(binary) })
    if (error) fail(`${command}: ${error.message}`)
    process.exit(status ?? 1)
  }
}
