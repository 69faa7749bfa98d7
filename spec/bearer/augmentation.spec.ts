import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import ts from 'typescript'

const root = join(__dirname, '../..')
const home = join(root, '.cache', `augmentation-${process.pid}`)
const compiler: ts.CompilerOptions = {
  strict: true,
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.Node20,
  moduleResolution: ts.ModuleResolutionKind.Node16,
  esModuleInterop: true,
  types: ['node'],
  typeRoots: [join(root, 'node_modules/@types')],
}

/** What others declare: as express-oauth2-jwt-bearer, as @clerk/express. */
const others = {
  optional: 'auth?: { payload: object; token: string }',
  callable: 'auth: { userId: string | null } & (() => { userId: string | null })',
}

function write(path: string, text: string): string {
  const file = join(home, path)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, text)
  return file
}

/** Reads and parses each declaration once for all programs. */
const host = ts.createCompilerHost(compiler)
const read = host.getSourceFile.bind(host)
const sources = new Map<string, ts.SourceFile | undefined>()
host.getSourceFile = (file, ...rest) => {
  if (!file.endsWith('.d.ts')) return read(file, ...rest)
  if (!sources.has(file)) sources.set(file, read(file, ...rest))
  return sources.get(file)
}

/** What tsc says of a program and of all declarations in it, without line numbers. */
function complaints(text: string): string[] {
  const file = write('app.ts', text)
  const program = ts.createProgram([file], { ...compiler, skipLibCheck: false, noEmit: true }, host)
  return ts
    .getPreEmitDiagnostics(program)
    .map(
      (d) =>
        `${d.file?.fileName.split('/').slice(-2).join('/')}: TS${d.code} ${ts.flattenDiagnosticMessageText(d.messageText, '\n').split('\n')[0]}`,
    )
}

after(() => rmSync(home, { recursive: true, force: true }))

describe('Request.auth in an app’s types', () => {
  before(() => {
    const outDir = join(home, 'node_modules/express-tollgate')
    ts.createProgram([join(root, 'lib/index.ts')], {
      ...compiler,
      skipLibCheck: true,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: join(root, 'lib'),
      outDir,
    }).emit()
    write('package.json', '{}') // a scope of its own: else the name stands for this project's last build
    write('node_modules/express-tollgate/package.json', '{ "name": "express-tollgate", "types": "./index.d.ts" }')
    for (const [name, declaration] of Object.entries(others)) {
      write(`node_modules/${name}/package.json`, `{ "name": "${name}", "types": "./index.d.ts" }`)
      const global = `declare global { namespace Express { interface Request { ${declaration} } } }`
      write(`node_modules/${name}/index.d.ts`, `export declare const other: 1\n${global}\n`)
    }
  })

  const ours = "import { requireBearer, type Session } from 'express-tollgate'"
  const handler = "import type { RequestHandler } from 'express'\nexport const h: RequestHandler = (req, res) => {"

  it('is a session whose userId is there where kind is user', () => {
    const text = `${ours}\nimport { sessionOf } from 'express-tollgate'\n${handler} const s: Session = sessionOf(req)
      // @ts-expect-error: there may be no session
      void req.auth.kind
      // @ts-expect-error: there is no userId yet
      void s.userId
      if (s.kind === 'user') res.send(s.userId.length + s.sub.length); else res.send(s.clientId.length) }
      requireBearer()`
    assert.deepEqual(complaints(text), [])
  })

  for (const other of Object.keys(others)) {
    const theirs = `import { other } from '${other}'`
    const use = other === 'optional' ? 'req.auth?.payload' : 'req.auth().userId'
    const app = `${theirs}\n${ours}\n${handler} void ${use}; const s = req.auth as unknown as Session; res.send(s.kind) }
      requireBearer(); void other`

    it(`gives way to a package that declares its own (${other})`, () => {
      assert.deepEqual(complaints(app), [])
    })
  }
})

describe('the options of requireBearer() in an app’s types', () => {
  it('do not take two sources of keys', () => {
    const text = `import { requireBearer } from '${join(root, 'lib/index')}'
      requireBearer({ issuer: 'a', audience: 'b', secret: 's', jwksUri: 'u' })`
    assert.match(complaints(text).join('\n'), /TS2322 Type 'string' is not assignable to type 'undefined'/)
  })
})
