// Writes the .lua, .html, .css and .js files of each folder of lib/ into that folder's assets.ts, because files read at run
// time break in bundles; without what only their reader needs. Writes programs of examples/ into the pages that show them.
// --check fails when one is out of date.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join, relative } from 'node:path'
import { transformSync } from 'esbuild'

const root = join(import.meta.dirname, '..')
const folders = new Map()
for (const file of readdirSync(join(root, 'lib'), { recursive: true }).map(String).sort()) {
  if (!['.lua', '.html', '.css', '.js'].includes(extname(file))) continue
  folders.set(dirname(file), [...(folders.get(dirname(file)) ?? []), file])
}
for (const [folder, files] of folders) {
  const out = join(root, 'lib', folder, 'assets.ts')
  let text = '// Written by scripts/embed.mjs. Do not edit.\n'
  for (const file of files) {
    const words = basename(file).split(/[-_.]/)
    const name = words.map((word, i) => (i === 0 ? word : word[0].toUpperCase() + word.slice(1))).join('')
    text += `\n/** ${basename(file)} */\nexport const ${name} = ${JSON.stringify(shortened(file))}\n`
  }
  write(out, text)
}
for (const file of readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md'))) {
  const page = join(root, 'docs', file)
  const show = (_, fence, path) => `${fence}${readFileSync(join(root, path), 'utf8')}\`\`\``
  write(page, readFileSync(page, 'utf8').replace(/^(```\w+ file=(examples\/\S+)\n)[^]*?^```$/gm, show))
}

function write(file, text) {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return
  if (process.argv.includes('--check')) {
    console.error(`${relative(root, file)} is out of date: npm run embed`)
    process.exit(1)
  }
  writeFileSync(file, text)
}

function shortened(file) {
  const text = readFileSync(join(root, 'lib', file), 'utf8')
  const kind = extname(file).slice(1)
  if (kind === 'lua') return text.replace(/^ *(--.*)?\n/gm, '').replace(/^ +/gm, '')
  return kind === 'html' ? text : transformSync(text, { loader: kind, minify: true, charset: 'utf8' }).code
}
