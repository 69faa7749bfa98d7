import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { page } from './support/markdown'

const root = process.cwd()
const lib = readdirSync(join(root, 'lib'), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
const sourceOf = (file: string) => readFileSync(join(root, 'lib', file), 'utf8')

/** The texts of a union of literals, as its source has them. */
function literals(file: string, type: string): string[] {
  const source = sourceOf(file)
  const declared = new RegExp(`export type ${type} =([^;]+?)\\n\\n`).exec(source)?.[1] ?? ''
  return [...declared.matchAll(/'(\w+)'/g)].map(([, text]) => text as string)
}

describe('docs/troubleshooting.md', () => {
  const headings = page(root, 'docs/troubleshooting.md').headings.map(({ title }) => title)
  const warnings = new Set(lib.flatMap((file) => sourceOf(file).match(/\bTOLLGATE_[A-Z_]+\b/g) ?? []))
  const reasons = [
    ...literals('bearer/refusal/refusal.ts', 'Reason'),
    ...literals('throttle/account/decide.ts', 'RefusalReason'),
  ]

  it('has a heading for every warning', () => {
    assert.ok(warnings.size >= 6, [...warnings].join())
    assert.deepEqual(
      [...warnings].filter((code) => !headings.includes(code)),
      [],
    )
  })

  it('has a heading for every reason why a request is refused', () => {
    assert.ok(reasons.includes('expired') && reasons.includes('dpop_unavailable') && reasons.includes('outage'))
    assert.deepEqual(
      reasons.filter((reason) => !headings.includes(reason)),
      [],
    )
  })

  it('has none for what there is no more', () => {
    const named = headings.filter((title) => /^[A-Z]+_|^[a-z_]+$/.test(title))
    assert.deepEqual(
      named.filter((title) => !warnings.has(title) && !reasons.includes(title)),
      [],
    )
    assert.equal(new Set(named).size, named.length)
  })
})
