import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
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
