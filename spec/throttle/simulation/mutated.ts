import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, transform } from 'esbuild'
import { TYPESCRIPT } from '../../support/typescript'
import type { Mutant } from './mutants'
import type { runSeed } from './seeds'

const ROOT = process.cwd()
const OUT = join(ROOT, '.cache/mutants')

type Change = Pick<Mutant, 'file' | 'from' | 'to'>

/** The simulator with one mechanism left out. @throws {Error} as {@link without} */
export async function mutated(mutant: Change, name: string): Promise<typeof runSeed> {
  const path = join(ROOT, mutant.file)
  const contents = without(mutant)
  const outfile = join(OUT, `${name}.cjs`)
  mkdirSync(OUT, { recursive: true })
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, 'spec/throttle/simulation/seeds.ts')],
    ...{ bundle: true, write: false, platform: 'node', format: 'cjs', target: 'node20', logLevel: 'silent' },
    plugins: [
      {
        name: 'mutant',
        setup: (into) =>
          into.onLoad({ filter: /\.ts$/ }, ({ path: of }) => (of === path ? { contents, loader: 'ts' } : undefined)),
      },
    ],
  })
  writeFileSync(outfile, (outputFiles[0] as { contents: Uint8Array }).contents)
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- it was written just now
  return (require(outfile) as { runSeed: typeof runSeed }).runSeed
}

/** Specs that were run as they are. */
const passing = new Map<string, Promise<boolean>>()

/** Whether a spec passes, and fails where one mechanism is left out. */
export async function failsWithout(mutant: Change, spec: string): Promise<boolean> {
  const hook = join(OUT, `${spec.replace(/\W+/g, '-')}.cjs`)
  const { code } = await transform(without(mutant), { loader: 'ts', format: 'cjs', target: 'node20' })
  mkdirSync(OUT, { recursive: true })
  writeFileSync(
    hook,
    `const load = require.extensions['.ts']
    const mutated = ${JSON.stringify(join(ROOT, mutant.file))}
    require.extensions['.ts'] = (module, file) =>
      file === mutated ? module._compile(${JSON.stringify(code)}, file) : load(module, file)`,
  )
  if (!passing.has(spec)) passing.set(spec, passes(spec))
  return (await passing.get(spec)) === true && !(await passes(spec, '--require', hook))
}

/** The file of a spec that a mutant names: `./budgets`. */
export function fileOf(spec: string): string {
  return join(ROOT, 'spec/throttle', `${spec}.spec.ts`)
}

/** Runs a spec with few seeds: it proves mechanisms by seeds that it names. */
async function passes(spec: string, ...flags: string[]): Promise<boolean> {
  const args = [...TYPESCRIPT, ...flags, '--test', fileOf(spec)]
  // With the context the spec reports to this run, and exits with 0.
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined, SIMULATION_SEEDS: '5', SIMULATION_FROM: '1' }
  const [exit] = (await once(spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'ignore' }), 'exit')) as [number]
  return exit === 0
}

/** @throws {Error} where the mutant's text is in its file no more, or more than once */
export function without({ file, from, to }: Change): string {
  const parts = readFileSync(join(ROOT, file), 'utf8').split(from)
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times: ${from}`)
  return parts.join(to)
}
