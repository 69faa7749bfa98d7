// Mutation testing of all of lib/bearer, group by group: npm run mutation [-- group ...]
// Prints the score of each file, and fails where one is below 90 %. The mutants themselves, and which survived:
// .cache/mutation/*.json.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GROUPS } from './mutation-groups.mjs'
import { needRedis } from './redis.mjs'

const LEAST = 90
const root = join(import.meta.dirname, '..')
const wanted = process.argv.slice(2)
const redis = needRedis()
const env = { ...process.env, ...redis.env, REDIS_SERVER: redis.server, REDIS_CLI: redis.cli }
const rows = []
for (const group of wanted.length > 0 ? wanted : Object.keys(GROUPS)) {
  const args = ['node_modules/@stryker-mutator/core/bin/stryker.js', 'run']
  const { status } = spawnSync(process.execPath, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...env, MUTATION_GROUP: group },
  })
  if (status !== 0) process.exit(status ?? 1)
  const { files } = JSON.parse(readFileSync(join(root, `.cache/mutation/${group}.json`), 'utf8'))
  for (const [file, { mutants }] of Object.entries(files)) rows.push({ file, ...scored(mutants) })
}
const all = rows.reduce((sum, { killed, valid }) => ({ killed: sum.killed + killed, valid: sum.valid + valid }), {
  killed: 0,
  valid: 0,
})
rows.sort((a, b) => (a.file < b.file ? -1 : 1))
rows.push({ file: 'all', ...all })
for (const { file, killed, valid } of rows) {
  console.log(
    `${file.padEnd(50)} ${String(killed).padStart(5)} of ${String(valid).padStart(5)}  ${percent(killed, valid)}`,
  )
}
process.exit(rows.some(({ killed, valid }) => (100 * killed) / valid < LEAST) ? 1 : 0)

function scored(mutants) {
  const count = (...statuses) => mutants.filter(({ status }) => statuses.includes(status)).length
  return { killed: count('Killed', 'Timeout'), valid: count('Killed', 'Timeout', 'Survived', 'NoCoverage') }
}

function percent(killed, valid) {
  return `${((100 * killed) / valid).toFixed(2)} %`
}
