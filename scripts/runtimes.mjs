// Bun and Deno, from npm's packages of their binaries, kept in .cache: one smoke run of the built package in each.
//   node scripts/runtimes.mjs
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const arm = process.arch === 'arm64'
const RUNTIMES = [
  { name: 'bun', version: '1.4.5', from: `@oven/bun-linux-${arm ? 'aarch64' : 'x64'}`, path: 'bin/bun', args: ['run'] },
  {
    name: 'deno',
    version: '2.9.6',
    from: `@deno/linux-${arm ? 'arm64' : 'x64'}-glibc`,
    path: 'deno',
    args: ['run', '--allow-all', '--node-modules-dir=manual'],
  },
]

if (process.platform !== 'linux') fail('it needs Linux')
if (!existsSync(join(root, 'dist/index.js'))) run(process.execPath, [join(root, 'scripts/build.mjs')])
for (const { name, version, from, path, args } of RUNTIMES) {
  const home = join(root, '.cache', name, version)
  const binary = join(home, 'package', path)
  if (!existsSync(binary)) {
    mkdirSync(home, { recursive: true })
    run('npm', ['pack', `${from}@${version}`, '--silent', '--pack-destination', home])
    const tarball = readdirSync(home).find((file) => file.endsWith('.tgz'))
    run('tar', ['-xzf', join(home, tarball), '-C', home])
    rmSync(join(home, tarball))
    chmodSync(binary, 0o755)
  }
  const printed = run(binary, [...args, join(import.meta.dirname, 'runtime-smoke.mjs')])
  if (!printed.endsWith('ok\n')) fail(`${name} ${version}: ${printed}`)
  console.log(`${name} ${version}: ok`)
}

function run(command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: root, encoding: 'utf8', timeout: 120_000 })
  if (status !== 0) fail(`${command} ${args.join(' ')}: ${error?.message ?? ''}${stdout}${stderr}`)
  return stdout
}

function fail(why) {
  console.error(`runtimes: ${why}`)
  process.exit(1)
}
