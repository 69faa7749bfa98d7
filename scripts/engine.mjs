// Runs a command of npm over another server than the specs' usual one: a valkey-server, or a Redis 8. The one on the
// PATH, or Debian 13's, unpacked into .cache/ without root, with the C library that it was built for.
//   npm run valkey -- test -- throttle/contract        npm run redis8 -- run chaos -- cluster
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LIBRARIES, unpack } from './debian.mjs'

/** By the name of their script in package.json; `is` matches what `--version` says. */
const ENGINES = {
  valkey: { name: 'valkey', is: /Valkey server v=/ },
  redis8: { name: 'redis', is: /Redis server v=([89]|\d\d)\./ },
}
const LOADER = process.arch === 'arm64' ? 'ld-linux-aarch64.so.1' : 'ld-linux-x86-64.so.2'
const NEEDED = ['libc6', 'libgcc-s1', 'libstdc++6', 'libsystemd0', 'libcap2', 'libssl3t64']
const FOR_MEMORY = ['libjemalloc2', 'liblzf1', 'libatomic1']

const [engine, ...command] = process.argv.slice(2)
const { name, is } = ENGINES[engine]
const cache = join(import.meta.dirname, '..', '.cache', engine)
const [server, cli] = [`${name}-server`, `${name}-cli`]
const runs = (file) => is.test(spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout ?? '')

/** A command that has the libraries that were unpacked beside it, and not those of this machine. */
function wrap(file, binary) {
  const libraries = `"$root/usr/lib/${LIBRARIES}"`
  const lines = [
    '#!/bin/sh',
    'root="$(dirname "$(readlink -f "$0")")/../root"',
    `exec ${libraries}/${LOADER} --argv0 ${file} --library-path ${libraries} "$root/usr/bin/${binary}" "$@"`,
  ]
  writeFileSync(join(cache, 'bin', file), `${lines.join('\n')}\n`)
  chmodSync(join(cache, 'bin', file), 0o755)
}

function get() {
  const why = unpack(cache, [`${name}-tools`, ...NEEDED, ...FOR_MEMORY], 'trixie')
  if (why !== undefined) return why
  mkdirSync(join(cache, 'bin'))
  wrap(server, `${name}-check-rdb`) // the same binary
  wrap(cli, cli)
  return undefined
}

const onPath = runs(server)
const why = onPath || existsSync(join(cache, 'bin', server)) ? undefined : get()
const [REDIS_SERVER, REDIS_CLI] = onPath ? [server, cli] : [server, cli].map((file) => join(cache, 'bin', file))
if (!runs(REDIS_SERVER)) {
  console.error(`no ${server} of this kind is installed, and Debian's could not be had${why ? `: ${why}` : ''}`)
  process.exit(1)
}
const { status } = spawnSync('npm', command, { stdio: 'inherit', env: { ...process.env, REDIS_SERVER, REDIS_CLI } })
process.exit(status ?? 1)
