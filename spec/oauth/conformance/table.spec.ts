import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

const ROOT = process.cwd()

it('docs/CONFORMANCE.md names specs that are there', () => {
  const rows = readFileSync(join(ROOT, 'docs/CONFORMANCE.md'), 'utf8').matchAll(
    /^\| (.+?) +\| (.+?) +\| `(.+?)` +\|$/gm,
  )
  let checked = 0
  for (const [, , title = '', file = ''] of rows) {
    const source = readFileSync(join(ROOT, 'spec/oauth', file), 'utf8').replaceAll("\\'", "'")
    assert.ok(source.includes(title), `${file}: ${title}`)
    checked++
  }
  assert.ok(checked > 60, String(checked))
})

it('docs/CONFORMANCE.md has the result of each conformance module, and of no other', () => {
  const folder = join(ROOT, 'spec/oauth/conformance')
  const inSpecs = readdirSync(folder)
    .filter((file) => file.endsWith('.spec.ts') && file !== 'table.spec.ts')
    .flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/'((?:oidcc|fapi2-security-profile-final)-[\w-]+)'/g)]
        .map(([, module]) => `${module} ${file}`)
        .filter((row) => !row.includes('-test-plan ')),
    )
  const rows = [
    ...readFileSync(join(ROOT, 'docs/CONFORMANCE.md'), 'utf8').matchAll(
      /^\| `((?:oidcc|fapi2)-[\w-]+)` +\| `([\w.-]+)` +\| (passed|warning: .+?|not applicable: .+?) +\|$/gm,
    ),
  ]
  assert.deepEqual(rows.map(([, module, file]) => `${module} ${file}`).sort(), [...new Set(inSpecs)].sort())
  assert.ok(rows.length > 80, String(rows.length))
})
