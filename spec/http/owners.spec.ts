// What strangers share: each row of the table in docs/security.md.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { urlOf } from '../../lib/http/url'
import type { Shares } from './shares/shares'
import { SHARES_OF_MEMORY } from './shares/shares-of-memory'
import { SHARES_OF_SERVER } from './shares/shares-of-server'
import { SHARES_OF_THROTTLE } from './shares/shares-of-throttle'

const TABLES: readonly Shares[] = [SHARES_OF_MEMORY, SHARES_OF_SERVER, SHARES_OF_THROTTLE]

/** The first column of the table "What strangers share" of docs/security.md. */
function documented(): string[] {
  const [, section = ''] = readFileSync('docs/security.md', 'utf8').split('## What strangers share')
  const rows = section.split('\n## ', 1)[0]?.matchAll(/^\| (.+?) +\|/gm) ?? []
  return [...rows].map(([, name = '']) => name.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')).slice(2)
}

describe('what is scarce is taken back from the owner that has most:', () => {
  it('every row of docs/security.md has its cases', () => {
    assert.deepEqual([...new Set(TABLES.flatMap((table) => Object.keys(table)))].sort(), documented().sort())
  })
  for (const [what, cases] of TABLES.flatMap((table) => Object.entries(table))) {
    for (const [i, show] of cases.entries()) it(cases.length > 1 ? `${what} (${i + 1})` : what, show)
  }
})

describe('urlOf()', () => {
  const different = (length: number) => String.fromCodePoint(...Array.from({ length }, (_, i) => 0x4e00 + i))

  it('takes no text that is longer than a URL, nor a host that is longer than one, however it is written', () => {
    for (const before of [
      'https://',
      'https:',
      'https:\\\\',
      'https:////',
      'https://user:word@',
      '\thttps://',
      'ht\ntps:/\t/',
      '\0 https://',
      'com.app:',
    ]) {
      assert.equal(urlOf(before + different(254)), undefined, before)
    }
    assert.equal(urlOf(`https://a.test/${'x'.repeat(2_034)}`), undefined)
    assert.equal(urlOf(`https://a.test/${different(1_000)}`)?.host, 'a.test')
    assert.equal(urlOf('/a', 'https://a.test/')?.href, 'https://a.test/a')
  })
})
