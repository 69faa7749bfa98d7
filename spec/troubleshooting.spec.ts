// Errors and warnings end with the address of a heading of troubleshooting.md: a code without one leads nowhere.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { it } from 'node:test'
import { page } from './support/markdown'

const sources = readdirSync('lib', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(`lib/${file}`, 'utf8'))
  .join('\n')

it('docs/troubleshooting.md has a heading for every warning and every reason of a refusal', () => {
  const headings = page(process.cwd(), 'docs/troubleshooting.md').headings.map(({ title }) => title)
  // In quotes; others are names of the environment.
  const warnings = [...sources.matchAll(/'(TOLLGATE_[A-Z_]+)'/g)].map(([, code]) => code)
  const unions = [...sources.matchAll(/type \w*Reason =([^;]+?)\n\n/g)].map(([, union]) => union)
  const reasons = [...unions.join().matchAll(/'(\w+)'/g)].map(([, reason]) => reason)
  assert.ok(warnings.includes('TOLLGATE_DEGRADED') && reasons.includes('expired') && reasons.includes('outage'))
  assert.deepEqual(
    [...new Set([...warnings, ...reasons])].filter((code) => !headings.includes(code as string)),
    [],
  )
  const twice = headings.filter((title, at) => /^[a-zA-Z]+(_[a-zA-Z]+)*$/.test(title) && headings.indexOf(title) !== at)
  assert.deepEqual(twice, [], 'each code has one place')
})
