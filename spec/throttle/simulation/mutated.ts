import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
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

/** @throws {Error} where the mutant's text is in its file no more, or more than once */
function without({ file, from, to }: Change): string {
  const parts = readFileSync(join(ROOT, file), 'utf8').split(from)
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times: ${from}`)
  return parts.join(to)
}
