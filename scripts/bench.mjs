// npm run bench: gets the peers, builds the package as it is published, and runs bench/main.ts, compiled.
import { spawn, spawnSync } from 'node:child_process'
import { rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { install } from './install.mjs'
import { needRedis, withRedis } from './services.mjs'

const root = join(import.meta.dirname, '..')
const bench = join(root, 'bench')
const run = (command, args, cwd) => {
  const { status } = spawnSync(command, args, { cwd, stdio: ['ignore', 2, 2] })
  if (status !== 0) process.exit(status ?? 1)
}

install('bench')
run(process.execPath, ['scripts/build.mjs'], root)
// The peers and the package are loaded as an app would load them: by their names, from node_modules.
const link = join(bench, 'node_modules/express-tollgate')
rmSync(link, { force: true, recursive: true })
symlinkSync(root, link, 'junction')
buildSync({
  absWorkingDir: bench,
  entryPoints: ['main.ts', 'server.ts', 'load-generator.ts'],
  outdir: 'dist',
  bundle: true,
  packages: 'external',
  tsconfigRaw: { compilerOptions: {} },
  format: 'cjs',
  platform: 'node',
  target: 'node20',
})
const child = spawn(process.execPath, [join(bench, 'dist/main.js'), ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
  env: withRedis(needRedis()),
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', (code) => process.exit(code ?? 1))
