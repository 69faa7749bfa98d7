import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'

const MODES = 46

it('docs/RELIABILITY.md answers for every failure mode, by specs that are there or a reason', () => {
  const page = readFileSync(join(process.cwd(), 'docs/RELIABILITY.md'), 'utf8')
  const answered = new Set([...page.matchAll(/^- .*/gm)].flatMap(([line]) => line.match(/\*\*F\d\d\*\*/g) ?? []))
  const reasons = [...answered].map((id) => id.replaceAll('*', ''))
  const rows = [...page.matchAll(/^\| (F\d\d) +\| .+? +\| (.+?) +\| `(.+?)` +\|$/gm)]
  for (const [, id = '', title = '', file = ''] of rows) {
    const source = readFileSync(join(process.cwd(), 'spec', file), 'utf8').replaceAll("\\'", "'")
    assert.ok(source.includes(title), `${id}: ${file} has no ${title}`)
  }
  const ids = Array.from({ length: MODES }, (_, i) => `F${String(i + 1).padStart(2, '0')}`)
  assert.deepEqual([...rows.map(([, id]) => id as string), ...reasons].sort(), ids)
})
