// Runs a command of npm over a real valkey-server instead of redis-server: the one on the PATH, or Debian's, unpacked
// into .cache/valkey without root (in bookworm it is in backports).
//   npm run valkey -- test -- throttle/contract        npm run valkey -- run chaos -- cluster
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { needRedis } from './redis.mjs'

const cache = join(import.meta.dirname, '..', '.cache', 'valkey')
const bin = join(cache, 'root/usr/bin')
const run = (command, ...args) => spawnSync(command, args, { cwd: cache, encoding: 'utf8' })

function get() {
  rmSync(cache, { recursive: true, force: true })
  for (const d of ['lists/partial', 'apt/archives/partial', 'root']) mkdirSync(join(cache, d), { recursive: true })
  const key = '/usr/share/keyrings/debian-archive-keyring.gpg'
  const source = `deb [signed-by=${key}] http://deb.debian.org/debian bookworm-backports main`
  writeFileSync(join(cache, 'sources.list'), `${source}\n`)
  const options = [
    ...[`Dir::State::Lists=${cache}/lists`, `Dir::Cache=${cache}/apt`, 'APT::Sandbox::User='],
    ...[`Dir::Etc::sourcelist=${cache}/sources.list`, 'Dir::Etc::sourceparts=-'],
  ].flatMap((option) => ['-o', option])
  for (const args of [['update'], ['download', 'valkey-tools']]) {
    const r = run('apt-get', '-q', ...options, ...args)
    if (r.status !== 0) return
  }
  for (const deb of readdirSync(cache).filter((f) => f.endsWith('.deb'))) run('dpkg', '-x', deb, 'root')
  symlinkSync('valkey-check-rdb', join(bin, 'valkey-server')) // the same binary
  for (const d of ['lists', 'apt']) rmSync(join(cache, d), { recursive: true, force: true })
}

const { env } = needRedis() // its libraries are the same
const installed = spawnSync('valkey-server', ['--version']).status === 0
if (!installed && !existsSync(join(bin, 'valkey-server'))) get()
const server = installed ? 'valkey-server' : join(bin, 'valkey-server')
const cli = installed ? 'valkey-cli' : join(bin, 'valkey-cli')
if (spawnSync(server, ['--version'], { env: { ...process.env, ...env } }).status !== 0) {
  console.error('no valkey-server is installed, and apt-get did not bring one')
  process.exit(1)
}
const { status } = spawnSync('npm', process.argv.slice(2), {
  stdio: 'inherit',
  env: { ...process.env, ...env, REDIS_SERVER: server, REDIS_CLI: cli },
})
process.exit(status ?? 1)
