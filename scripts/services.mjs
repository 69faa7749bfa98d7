// Servers that the specs need, without root and without Docker: the one on the PATH, or Debian's, unpacked into .cache/.
//   node scripts/services.mjs redis COMMAND …     runs a command with REDIS_SERVER and REDIS_CLI set
//   npm run valkey -- test -- throttle/contract   runs npm over a Valkey, and `npm run redis8` over a Redis 8
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const CACHE = join(import.meta.dirname, '..', '.cache')
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
const LIBRARIES = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`
const LOADER = process.arch === 'arm64' ? 'ld-linux-aarch64.so.1' : 'ld-linux-x86-64.so.2'
const FOR_MEMORY = ['libjemalloc2', 'liblzf1', 'libatomic1']
const FOR_TRIXIE = ['libc6', 'libgcc-s1', 'libstdc++6', 'libsystemd0', 'libcap2', 'libssl3t64']

/** Engines beside the usual one; `is` matches what `--version` says. */
const ENGINES = {
  valkey: { name: 'valkey', is: /Valkey server v=/ },
  redis8: { name: 'redis', is: /Redis server v=([89]|\d\d)\./ },
}

/** Finds a redis-server or valkey-server, or gets one; ends the process with a clear message when it cannot. */
export function needRedis() {
  let why
  let found = findRedis()
  if (!found && !process.env.REDIS_SERVER) {
    why = unpack('redis', ['redis-tools', ...FOR_MEMORY])
    // In Debian the server is the same binary as redis-check-rdb, in redis-tools.
    for (const name of why === undefined ? ['redis-server', 'redis-sentinel'] : []) {
      symlinkSync('redis-check-rdb', join(CACHE, 'redis/root/usr/bin', name))
    }
    found = findRedis()
  }
  return (
    found ??
    fail(
      [
        'The specs need a real redis-server (6.2 or newer), and none was found.',
        process.env.REDIS_SERVER
          ? `  REDIS_SERVER=${process.env.REDIS_SERVER} does not run.`
          : `  Not on the PATH; ${why ?? 'the one unpacked in .cache/redis does not run'}.`,
        '  Debian, Ubuntu: sudo apt-get install redis-server',
        '  macOS:          brew install redis',
        '  Or set REDIS_SERVER and REDIS_CLI to the paths of a redis-server (or valkey-server) and its cli.',
      ].join('\n'),
    )
  )
}

/** @returns {{ server: string, cli: string, env: Record<string, string>, version: string } | undefined} */
export function findRedis() {
  const root = join(CACHE, 'redis/root/usr')
  const cached = { LD_LIBRARY_PATH: join(root, 'lib', LIBRARIES) }
  const places = process.env.REDIS_SERVER
    ? [[process.env.REDIS_SERVER, process.env.REDIS_CLI ?? 'redis-cli', {}]]
    : [
        ['redis-server', 'redis-cli', {}],
        ['valkey-server', 'valkey-cli', {}],
        [join(root, 'bin/redis-server'), join(root, 'bin/redis-cli'), cached],
      ]
  for (const [server, cli, env] of places) {
    const version = /v=(\d+\.\d+\.\d+)/.exec(versionOf(server, env))?.[1]
    if (version) return { server, cli, env, version }
  }
  return undefined
}

/** The environment in which specs find their server. */
export function withRedis({ server, cli, env }) {
  return { ...process.env, ...env, REDIS_SERVER: server, REDIS_CLI: cli }
}

/** A server for a whole run, with a database for each file of specs. It ends with this process at the latest. */
export async function startRedis(found) {
  const { server, cli, env } = found
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'express-tollgate-redis-'))
  const args = ['--port', port, '--bind', '127.0.0.1', '--save', '', '--databases', 4096, '--dir', dir]
  const more = { env: { ...process.env, ...env } }
  const child = spawn(server, args.map(String), { ...more, stdio: 'ignore' })
  const stop = () => {
    child.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  }
  process.on('exit', stop)
  while (!String(spawnSync(cli, ['-p', String(port), 'PING'], more).stdout).startsWith('PONG')) {
    if (child.exitCode !== null) fail(`${server} did not start on port ${port}`)
    await sleep(10)
  }
  return { port, stop }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

/** The server and the client of an engine. */
function needEngine(engine) {
  const { name, is } = ENGINES[engine]
  const files = [`${name}-server`, `${name}-cli`]
  if (is.test(versionOf(files[0]))) return files
  const unpacked = files.map((file) => join(CACHE, engine, 'bin', file))
  let why
  if (!existsSync(unpacked[0])) {
    why = unpack(engine, [`${name}-tools`, ...FOR_TRIXIE, ...FOR_MEMORY], 'trixie')
    if (why === undefined) wrap(engine, { [files[0]]: `${name}-check-rdb`, [files[1]]: files[1] })
  }
  return is.test(versionOf(unpacked[0])) ? unpacked : fail(`no ${engine} could be had: ${why}`)
}

/** Commands that have the C library that was unpacked beside them, and not this machine's. */
function wrap(engine, binaries) {
  mkdirSync(join(CACHE, engine, 'bin'))
  for (const [file, binary] of Object.entries(binaries)) {
    const libraries = `"$root/usr/lib/${LIBRARIES}"`
    const script = join(CACHE, engine, 'bin', file)
    writeFileSync(
      script,
      `#!/bin/sh
root="$(dirname "$(readlink -f "$0")")/../root"
exec ${libraries}/${LOADER} --argv0 ${file} --library-path ${libraries} "$root/usr/bin/${binary}" "$@"
`,
    )
    chmodSync(script, 0o755)
  }
}

/** Unpacks packages of Debian into `.cache/NAME/root`. @returns why it could not be done, or undefined */
function unpack(name, packages, suite) {
  const folder = join(CACHE, name)
  if (spawnSync('apt-get', ['--version']).status !== 0) return 'there is no apt-get on this machine'
  rmSync(folder, { recursive: true, force: true })
  for (const d of ['lists/partial', 'apt/archives/partial', 'root']) mkdirSync(join(folder, d), { recursive: true })
  const options = [`Dir::State::Lists=${folder}/lists`, `Dir::Cache=${folder}/apt`, 'APT::Sandbox::User=']
  options.push('Acquire::Retries=3')
  if (suite !== undefined) {
    const targets = spawnSync('apt-get', ['indextargets', '--format', '$(REPO_URI)'], { encoding: 'utf8' })
    const mirror = targets.stdout.split('\n').find((uri) => /\/debian\/?$/.test(uri)) ?? 'http://deb.debian.org/debian'
    const sources = join(folder, 'sources.list')
    writeFileSync(sources, `deb [signed-by=${KEYRING}] ${mirror} ${suite} main\n`)
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

function versionOf(server, env = {}) {
  const { stdout } = spawnSync(server, ['--version'], { encoding: 'utf8', env: { ...process.env, ...env } })
  return stdout ?? ''
}

function fail(why) {
  console.error(why)
  process.exit(1)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [service, command, ...args] = process.argv.slice(2)
  const [server, cli] = service in ENGINES ? needEngine(service) : []
  const env = server ? { ...process.env, REDIS_SERVER: server, REDIS_CLI: cli } : withRedis(needRedis())
  const { status } = spawnSync(command, args, { stdio: 'inherit', env })
  process.exit(status ?? 1)
}
