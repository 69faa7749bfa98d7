// Embeds, compiles, and copies the .lua, .html and .css files beside the output.
import { spawnSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { extname, join } from 'node:path'

const root = join(import.meta.dirname, '..')
const run = (...args) => {
  const r = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  if (r.status !== 0) process.exit(r.status ?? 1)
}
rmSync(join(root, 'dist'), { recursive: true, force: true })
run('scripts/embed.mjs')
run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json')
cpSync(join(root, 'lib'), join(root, 'dist'), {
  recursive: true,
  filter: (file) => ['', '.lua', '.html', '.css'].includes(extname(file)),
})
