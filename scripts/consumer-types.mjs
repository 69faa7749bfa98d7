// The types of the package as it would be published, in apps that also have what others declare of `req.auth`: each app
// below compiles, with the declarations of all packages checked (skipLibCheck: false), under the oldest and the newest
// TypeScript that we take, 5.4 and 6.0, and with the types of Express 4 and 5. TypeScript's and Node's own declarations are checked in the first app only: nothing
// in the others changes them, and they are most of the time.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ours = "import { budgetOf, requireBearer, sessionOf, throttle, type Session } from 'express-tollgate'"
const routes = (old) => `
const app = express()
${old}
app.get('/new/:id', requireBearer(), throttle(), (req, res) => {
  const session: Session = sessionOf(req)
  res.json({ id: req.params.id, kind: session.kind, leftMs: budgetOf(req).leftMs })
})`

/** Apps by name; each has routes of its old package, where there is one, beside one of ours. */
const APPS = {
  alone: `${ours}${routes(`
app.get('/', requireBearer({ optional: true }), throttle(), (req, res) => {
  const session: Session | undefined = req.auth
  // @ts-expect-error there may be no session
  void req.auth.kind
  // @ts-expect-error there may be no budget
  void req.throttle.leftMs
  const known = sessionOf(req)
  // @ts-expect-error only a user has a userId
  void known.userId
  if (known.kind === 'user') res.send(known.userId.length + known.sub.length)
  else res.send(known.clientId.length)
  // @ts-expect-error two sources of keys
  requireBearer({ issuer: 'a', audience: 'b', secret: 's', jwksUri: 'u' })
  res.json({ kind: session?.kind, leftMs: req.throttle?.leftMs })
})`)}`,
  'throttle alone': `import { budgetOf, throttle } from 'express-tollgate/throttle'
const app = express()
app.get('/:id', throttle(), (req, res) => {
  // @ts-expect-error nothing declares it
  void req.auth
  res.json({ id: req.params.id, leftMs: req.throttle?.leftMs, spentMs: budgetOf(req).spentMs })
})`,
  'express-oauth2-jwt-bearer': `import { auth } from 'express-oauth2-jwt-bearer'
${ours}${routes("app.get('/old', auth(), throttle(), (req, res) => void res.json({ sub: req.auth?.payload.sub }))")}`,
  'express-jwt': `import { expressjwt, type Request as JwtRequest } from 'express-jwt'
${ours}${routes(`app.get('/old', expressjwt({ secret: 's', algorithms: ['HS256'] }), throttle(), (req: JwtRequest, res: express.Response) => {
  res.json({ sub: req.auth?.sub })
})`)}`,
  passport: `import passport from 'passport'
${ours}${routes("app.get('/old', passport.authenticate('session'), throttle(), (req, res) => void res.json({ user: req.user }))")}`,
  'auth of its own': `declare global { namespace Express { interface Request { auth?: { userId: number } } } }
${ours}${routes("app.get('/old', throttle(), (req, res) => void res.json({ user: req.auth?.userId.toFixed() }))")}`,
  'auth of its own, always there': `declare global { namespace Express { interface Request { auth: { userId: number } } } }
${ours}${routes("app.get('/old', throttle(), (req, res) => void res.json({ user: req.auth.userId.toFixed() }))")}`,
  'auth of its own, a function': `declare global { namespace Express { interface Request { auth: { userId: string } & (() => { userId: string }) } } }
${ours}${routes("app.get('/old', throttle(), (req, res) => void res.json({ user: req.auth().userId, same: req.auth.userId }))")}`,
  'auth of its own, on the type of Express': `import { requireBearer, sessionOf, type Session } from 'express-tollgate/bearer'
import { budgetOf, throttle } from 'express-tollgate/throttle'
declare module 'express-serve-static-core' { interface Request { auth?: { userId: number } } }
${routes("app.get('/old', throttle(), (req, res) => void res.json({ user: req.auth?.userId.toFixed() }))")}`,
  'auth of its own, in an interface of its own': `import { requireBearer, sessionOf, type Session } from 'express-tollgate/bearer'
import { budgetOf, throttle } from 'express-tollgate/throttle'
interface OwnRequest extends express.Request { auth: { userId: number } }
${routes("app.get('/old', (req, res) => void res.json({ user: (req as OwnRequest).auth.userId.toFixed() }))")}`,
}

/** Declarations of TypeScript and of Node. */
const OWN = /[/\\]node_modules[/\\](typescript-[\d.]+|@types[/\\]node|undici-types)[/\\]/

const [mode, compiler] = process.argv.slice(2)
if (mode === '--with') checkWith(compiler)
else await matrix()

async function matrix() {
  const root = join(import.meta.dirname, '..')
  const { name, version, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const home = mkdtempSync(join(tmpdir(), 'express-tollgate-types-'))
  process.on('exit', () => rmSync(home, { recursive: true, force: true }))
  run(root, 'npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', home])
  const others = ['express-jwt', 'express-oauth2-jwt-bearer', 'passport'].map(
    (each) => `${each}@${devDependencies[each]}`,
  )
  const versions = ['5.4', '6.0']
  const compilers = versions.map((each) => `typescript-${each}@npm:typescript@~${each}.0`)
  for (const express of ['4', '5']) {
    const folder = join(home, `express-${express}`)
    mkdirSync(folder)
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    const types = [`express@${express}`, `@types/express@${express}`, '@types/passport', `@types/node@20`]
    const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--silent']
    run(folder, 'npm', ['install', ...quiet, join(home, `${name}-${version}.tgz`), ...types, ...others, ...compilers])
    for (const [app, text] of Object.entries(APPS)) {
      writeFileSync(join(folder, `${app.replace(/\W+/g, '-')}.ts`), `import express from 'express'\n${text}\n`)
    }
    // Side by side: each takes a core for half a minute.
    await Promise.all(
      versions.map(async (each) => {
        const args = [import.meta.filename, '--with', `typescript-${each}`]
        const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
        const [code] = await once(child, 'exit')
        if (code !== 0) process.exit(1)
        console.log(`ok   TypeScript ${each}, types of Express ${express}: ${Object.keys(APPS).length} apps`)
      }),
    )
  }
}

/** Compiles the apps of the working directory one by one; reads each declaration once. */
function checkWith(compiler) {
  const ts = createRequire(join(process.cwd(), 'package.json'))(compiler)
  const options = {
    ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true, esModuleInterop: true },
    ...{ target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.Node16, types: ['node'] },
    moduleResolution: ts.ModuleResolutionKind.Node16,
  }
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile.bind(host)
  const declarations = new Map()
  host.getSourceFile = (file, ...rest) => {
    if (!file.endsWith('.d.ts')) return read(file, ...rest)
    if (!declarations.has(file)) declarations.set(file, read(file, ...rest))
    return declarations.get(file)
  }
  let failed = false
  for (const app of Object.keys(APPS)) {
    const program = ts.createProgram([`${app.replace(/\W+/g, '-')}.ts`], options, host)
    const files = program.getSourceFiles().filter(({ fileName }) => app === 'alone' || !OWN.test(fileName))
    const problems = [
      ...program.getConfigFileParsingDiagnostics(),
      ...program.getOptionsDiagnostics(),
      ...program.getGlobalDiagnostics(),
      ...files.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]),
    ]
    for (const { file, messageText } of problems) {
      failed = true
      console.error(`${app}: ${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
    }
  }
  process.exitCode = failed ? 1 : 0
}

function run(cwd, command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status === 0) return
  console.error(`consumer-types: ${command} ${args.join(' ')} failed\n${stdout}${stderr}${error ?? ''}`)
  process.exit(1)
}
