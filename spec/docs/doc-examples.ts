import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import ts from 'typescript'
import type { Page } from '../support/markdown'

export interface Example {
  readonly title: string
  /** Runs in a process of its own until that ends; else one after the other with the rest of its page. */
  readonly alone: boolean
  /** What the page says that it prints, where it does: `console.log(…) // 200`. */
  readonly prints: string | undefined
  /** Has specs of node:test in it. */
  readonly tests: boolean
  readonly source: string
}

/**
 * Writes a page's ts and js blocks as files, each page's into a folder of its own so that one may import another by its
 * `file=` name. A block that uses an `app` and makes none is given one; one with an `await` of its own, and a js block
 * with an `import`, is ESM; one
 * that neither prints what it promises nor tests anything is over at its end, whatever it has opened.
 */
export function examplesOf(page: Page, home: string): Example[] {
  const folder = join(home, page.path.replace(/\W+/g, '-'))
  mkdirSync(folder, { recursive: true })
  return page.blocks
    .filter(({ language }) => language === 'ts' || language === 'js')
    .map((block) => {
      const { text, heading, line, language } = block
      const promised = [...text.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map(([, said]) => `${said}\n`).join('')
      const tests = /from 'node:test'/.test(text)
      const isModule = language === 'js' && /^import /m.test(text)
      const esm = isModule || /^(?=[^\s/]).*\bawait\b/m.test(text.replace(/^.*\basync\b.*$/gm, ''))
      const given = /\bapp\b/.test(text) && !/express\(\)|\bapp:/.test(text)
      let code = text
      if (given)
        code = `${/import express\b/.test(text) ? '' : `import express from 'express'\n`}const app = express()\n${text}`
      // The specs' own ports, so that nothing meets what else is running.
      code = code.replaceAll(/listen\(300\d/g, 'listen(0')
      const alone = esm || tests || promised !== ''
      if (esm && !tests && promised === '') code += `\nconsole.log('ran to its end')\nprocess.exit(0)\n`
      const source = join(folder, block.file ?? `line-${line}.${esm ? 'm' : ''}${block.language}`)
      mkdirSync(dirname(source), { recursive: true })
      writeFileSync(source, code)
      const prints = tests ? undefined : promised || 'ran to its end\n'
      return { title: `${page.path}:${line}, ${heading}`, alone, prints, tests, source }
    })
}

/**
 * Compiles examples and the package under the project's own strict options, and lays them out so that the
 * package is found by its name; `localhost:6379` becomes the Redis at `redisPort`. Returns what the compiler says against them, none where all is well.
 */
export function compile(root: string, home: string, sources: readonly string[], redisPort: number): string[] {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (file) => ts.sys.readFile(file)) as {
    config: { compilerOptions: Record<string, unknown> }
  }
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { exports: object }
  const entries = Object.keys(exports).filter((entry) => !entry.endsWith('.json'))
  const lib = entries.map((entry) => join(root, 'lib', entry, 'index.ts'))
  const typed = sources.filter((source) => source.endsWith('ts'))
  const said: string[] = []
  // A peer that augments Express's Request differently may not be seen by what uses this package.
  const peers = typed.filter((source) => source.endsWith('/before.ts'))
  const ours = typed.filter((source) => !peers.includes(source))
  const host = ts.createCompilerHost(options)
  const parsed = new Map<string, ts.SourceFile | undefined>()
  const getSourceFile = host.getSourceFile.bind(host)
  host.getSourceFile = (file, ...how) => {
    if (!parsed.has(file)) parsed.set(file, getSourceFile(file, ...how))
    return parsed.get(file)
  }
  for (const rootNames of [[...ours, ...lib], ...peers.map((source) => [source])]) {
    const program = ts.createProgram(
      rootNames,
      {
        ...options,
        noEmit: false,
        rootDir: root,
        outDir: join(home, 'out'),
        configFilePath: join(root, 'tsconfig.json'),
      },
      host,
    )
    said.push(...ts.getPreEmitDiagnostics(program).map((diagnostic) => textOf(diagnostic, home)))
    program.emit()
  }
  for (const source of sources) {
    const file = compiled(root, home, source)
    const text = readFileSync(source.endsWith('js') ? source : file, 'utf8')
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text.replaceAll('localhost:6379', `127.0.0.1:${redisPort}`))
  }
  // Node looks a package up by its own name first: what is compiled is that package.
  cpSync(join(root, 'package.json'), join(home, 'out/package.json'))
  symlinkSync('lib', join(home, 'out/dist'))
  return said
}

/** Compiles ES modules with TypeScript 7 in a project of `tsc --init`. Returns what the compiler says against them. */
export function compileAsInit(root: string, home: string, sources: readonly string[]): string[] {
  const project = join(home, 'init')
  const tsc = (...args: string[]) =>
    spawnSync(process.execPath, [join(root, 'node_modules/typescript-7/bin/tsc'), ...args], { cwd: project })
  mkdirSync(project)
  assert.equal(tsc('--init').status, 0)
  writeFileSync(join(home, 'package.json'), '{ "type": "module" }')
  cpSync(join(root, 'dist'), join(project, 'dist'), { recursive: true }) // beside the types of Express that samples see
  const paths = { 'express-tollgate': ['./dist/index.d.ts'], 'express-tollgate/*': ['./dist/*/index.d.ts'] }
  // Files of this one folder: those of Nest are no ES modules, and a peer's types of `req` stand apart.
  const files = sources.filter((source) => !/nestjs|before\.ts$/.test(source))
  const compilerOptions = { noEmit: true, types: ['node'], paths }
  writeFileSync(
    join(project, 'tsconfig.samples.json'),
    JSON.stringify({ extends: './tsconfig.json', compilerOptions, files }),
  )
  return tsc('-p', 'tsconfig.samples.json').stdout.toString().split('\n').filter(Boolean)
}

function textOf(d: ts.Diagnostic, home: string): string {
  const at = d.file && d.start !== undefined ? `:${d.file.getLineAndCharacterOfPosition(d.start).line + 1}` : ''
  const text = ts.flattenDiagnosticMessageText(d.messageText, '\n')
  return `${d.file ? relative(home, d.file.fileName) : ''}${at}: ${text}`
}

/** Runs a compiled example as `node file.js` does, with an environment that holds nothing of this one's. */
export function runExample(root: string, home: string, source: string): Promise<Ran> {
  return runFile(compiled(root, home, source))
}

/** Runs examples that have an end in one process, each after the one before: it prints their titles as they end. */
export function runTogether(root: string, home: string, examples: readonly Example[]): Promise<Ran> {
  const files = examples.map(({ source, title }) => [compiled(root, home, source), title])
  const file = join(dirname(files[0]?.[0] ?? home), 'together.cjs')
  writeFileSync(
    file,
    `process.setMaxListeners(0)
for (const [file, title] of ${JSON.stringify(files)}) {
  require(file)
  console.log(title)
}
process.exit(0)
`,
  )
  return runFile(file)
}

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function runFile(file: string): Promise<Ran> {
  // A block that checks a store loses replies on purpose, and is warned of it.
  const env = { PATH: process.env.PATH, NODE_ENV: 'test', NODE_OPTIONS: '--disable-warning=TOLLGATE_DEGRADED' }
  return new Promise((resolve) => {
    execFile(process.execPath, [file], { cwd: dirname(file), env, timeout: 120_000 }, (err, stdout, stderr) => {
      resolve({ code: err === null ? 0 : typeof err.code === 'number' ? err.code : -1, stdout, stderr })
    })
  })
}

const compiled = (root: string, home: string, source: string) =>
  join(home, 'out', relative(root, source)).replace(/\.(m?)ts$/, '.$1js')
