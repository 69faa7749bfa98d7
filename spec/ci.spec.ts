import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { describe, it } from 'node:test'
import { parse } from 'yaml'

interface Job {
  readonly strategy?: { readonly matrix: { readonly part?: readonly string[]; readonly node?: readonly string[] } }
  readonly steps?: readonly { readonly run?: string; readonly uses?: string }[]
}
const read = (file: string) => readFileSync(file, 'utf8')
const workflows = readdirSync('.github/workflows').map((file) => `.github/workflows/${file}`)
const jobs = workflows.flatMap((file) => Object.values((parse(read(file)) as { jobs: Record<string, Job> }).jobs))
const steps = jobs.flatMap(({ steps = [] }) => steps)
const manifest = JSON.parse(read('package.json')) as { scripts: object; engines: { node: string } }

describe('.github/workflows', () => {
  it('run every part of .ci/run but for the other Nodes, which have a job each', () => {
    const parts = [...read('.ci/run').matchAll(/^(\w+)\(\) \{/gm)].map(([, name]) => name)
    const named = steps.flatMap(({ run = '' }) => /^\.ci\/run (\w+)$/.exec(run)?.[1] ?? [])
    const run = new Set([...named, ...jobs.flatMap(({ strategy }) => strategy?.matrix.part ?? [])])
    assert.deepEqual(run, new Set(parts.filter((part) => !['run_specs', 'step', 'nodes'].includes(String(part)))))
    const nodes = jobs.flatMap(({ strategy }) => strategy?.matrix.node ?? [])
    assert.equal(`>=${nodes[0]}`, manifest.engines.node)
    for (const [, others = ''] of read('.ci/run').matchAll(/for node in ([\d ]+);/g)) {
      assert.deepEqual(nodes.slice(-2), others.split(' '))
    }
  })

  it('run scripts that are there', () => {
    for (const { run = '' } of steps) {
      for (const [, script = ''] of run.matchAll(/npm run (?:--silent )?([\w:-]+)/g))
        assert.ok(script in manifest.scripts)
    }
  })
})
