// Transpiles lib/ and spec/ file by file, without a look at the types: node scripts/transpile.mjs folder
import { readdirSync } from 'node:fs'
import { buildSync } from 'esbuild'

const files = ['lib', 'spec'].flatMap((folder) =>
  readdirSync(folder, { recursive: true }).map((file) => `${folder}/${file}`),
)
const entryPoints = files.filter((file) => file.endsWith('.ts'))
buildSync({
  entryPoints,
  outdir: process.argv[2],
  outbase: '.',
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  keepNames: true,
})
