// npm run bench [-- --node=24]: gets the peers, builds the package as it is published, and runs bench/main.ts, compiled, on
// Node 22 and 24.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
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
/** Which Nodes are measured, one after the other. */
const nodes = process.argv.flatMap((arg) => (arg.startsWith('--node=') ? [arg.slice('--node='.length)] : []))
const args = process.argv.slice(2).filter((arg) => !arg.startsWith('--node='))
const env = withRedis(needRedis())
for (const node of nodes.length > 0 ? nodes : ['22', '24']) {
  const command = ['--yes', '-p', `node@${node}`, '--', 'node', join(bench, 'dist/main.js'), ...args]
  const child = spawn('npx', command, { cwd: root, stdio: 'inherit', env })
  const stop = () => child.kill('SIGTERM')
  process.on('SIGINT', stop).on('SIGTERM', stop)
  const [code] = await once(child, 'exit')
  process.off('SIGINT', stop).off('SIGTERM', stop)
  if (code !== 0) process.exit(code ?? 1)
}
