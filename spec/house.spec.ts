import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'

/** The rooms of lib/, from the floor up: a room imports from those above it in this list, and never from one below. */
const ROOMS = [
  'errors',
  'http',
  'redis',
  'bearer',
  'providers',
  'throttle',
  'oauth',
  'client',
  'opentelemetry',
  'dashboard',
  'top',
  'testing',
  'index',
]

/** The same within a room. Files beside these folders may stand anywhere, as long as there is no circle. */
const INNER: Readonly<Record<string, readonly string[]>> = {
  bearer: ['refusal', 'session', 'credentials', 'keys', 'claims', 'revocation', 'dpop', 'issuers'],
  throttle: ['advisor', 'account', 'sync', 'redis', 'request', 'inspect'],
  oauth: [
    ...['keys', 'directories', 'stores', 'parameters', 'records', 'pages'],
    ...['tokens', 'client-auth', 'grants', 'endpoints'],
  ],
  testing: ['store-contract'],
}

const IMPORT = /^import\s+(?<type>type\s+)?(?:(?<names>[\w*{][^;'"]*?)\s+from\s+)?'(?<path>[^']+)'/gm
const EXPORT = /^export\s+(?<type>type\s+)?(?<names>\*|\{[^}]*\})\s+from\s+'(?<path>[^']+)'/gm

interface Import {
  readonly from: string
  readonly to: string
  /** Gone at run time. */
  readonly typeOnly: boolean
}

describe('imports', () => {
  const imports = ['lib', 'bench', 'demo'].flatMap((folder) => filesIn(folder).flatMap(importsOf))
  const inLib = imports.filter(({ from }) => from.startsWith('lib/'))

  it('are found', () => assert.ok(inLib.length > 300, `${inLib.length} imports`))

  it('go down from room to room', () => {
    assert.deepEqual(new Set(filesIn('lib').map(roomOf)), new Set(ROOMS))
    assert.deepEqual(said(inLib.filter(({ from, to }) => ROOMS.indexOf(roomOf(from)) < ROOMS.indexOf(roomOf(to)))), [])
  })

  for (const [room, order] of Object.entries(INNER)) {
    it(`go down within ${room}/`, () => {
      const folders = filesIn(`lib/${room}`).map(innerRoomOf)
      assert.deepEqual(new Set(folders.filter((folder) => folder !== undefined)), new Set(order))
      const within = inLib.filter(({ from, to }) => roomOf(from) === room && roomOf(to) === room)
      const up = within.filter(({ from, to }) => {
        const [lower, upper] = [innerRoomOf(from), innerRoomOf(to)]
        return lower !== undefined && upper !== undefined && order.indexOf(lower) < order.indexOf(upper)
      })
      assert.deepEqual(said(up), [])
    })
  }

  it('never lead in a circle', () => {
    assert.deepEqual(circles(byFile(imports.filter(({ typeOnly }) => !typeOnly))), [])
    // Types of one folder may name each other: a window its waiting requests, and a waiting request its window.
    const leaving = imports.filter(({ from, to, typeOnly }) => !typeOnly || dirname(from) !== dirname(to))
    assert.deepEqual(circles(byFile(leaving)), [])
  })

  it('name no index.ts, but for the face that is made of two: that is for users of the package', () => {
    const inner = inLib.filter(({ from }) => from !== 'lib/index.ts')
    assert.deepEqual(said(inner.filter(({ to }) => to.endsWith('/index.ts'))), [])
  })

  it('stay within lib/ in lib/', () => {
    assert.deepEqual(said(inLib.filter(({ to }) => !to.startsWith('lib/'))), [])
  })
})

describe('files', () => {
  it('have names that say what is in them', () => {
    const nameless = /\/(utils?|helpers?|common|misc|shared|stuff)(\/|\.ts$)/
    assert.deepEqual(
      [...filesIn('lib'), ...filesIn('demo'), ...filesIn('bench')].filter((file) => nameless.test(file)),
      [],
    )
  })
})

describe('errors', () => {
  /** Their errors are causes or answers inside the package, or belong to tests that run the store contract. */
  const INSIDE = [
    'lib/bearer/issuers/introspection.ts',
    'lib/redis/redis-connection.ts',
    'lib/testing/store-contract/throttled-app.ts',
    'lib/testing/store-contract/unreliable-store.ts',
    'lib/throttle/redis/record.ts',
  ]

  it('have a code and the address of its heading: lib/http/help.ts makes all of them', () => {
    const plain = filesIn('lib').filter((file) =>
      /\bnew (Type|Range)Error\(|throw new Error\(/.test(readFileSync(file, 'utf8')),
    )
    assert.deepEqual(plain.sort(), INSIDE)
  })

  it('and warnings: lib/http/warn-once.ts emits all of them', () => {
    const emitting = filesIn('lib').filter((file) => readFileSync(file, 'utf8').includes('emitWarning('))
    assert.deepEqual(emitting, ['lib/http/warn-once.ts'])
  })
})

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return ['node_modules', 'dist'].includes(entry.name) ? [] : filesIn(path)
    return /(?<!\.d)\.ts$/.test(entry.name) ? [path] : []
  })
}

/** `lib/bearer/keys/jwks.ts` → `bearer`; `lib/errors.ts` → `errors`. */
function roomOf(file: string): string {
  return (file.split('/')[1] ?? '').replace(/\.ts$/, '')
}

/** `lib/bearer/keys/jwks.ts` → `keys`; `lib/bearer/refusal.ts` → undefined. */
function innerRoomOf(file: string): string | undefined {
  const [, , folder, more] = file.split('/')
  return more === undefined ? undefined : folder
}

/** The imports, and what is exported from elsewhere, that name a file of this project. */
function importsOf(file: string): Import[] {
  const source = readFileSync(file, 'utf8')
  return [...source.matchAll(IMPORT), ...source.matchAll(EXPORT)].flatMap(({ groups: { type, names, path } = {} }) => {
    if (!path?.startsWith('.')) return []
    const base = join(dirname(file), path).replaceAll('\\', '/').replace(/\.js$/, '')
    const to = [`${base}.ts`, `${base}/index.ts`].find((each) => existsSync(each))
    assert.ok(to, `${file} imports ${path}, which is no file`)
    return [{ from: file, to, typeOnly: type !== undefined || isTypeOnly(names ?? '') }]
  })
}

/** `{ type A, type B }` */
function isTypeOnly(names: string): boolean {
  const listed = /^\{([^}]*)\}$/.exec(names.trim())?.[1]
  const each = listed?.split(',').filter((name) => name.trim() !== '') ?? []
  return each.length > 0 && each.every((name) => /^\s*type\s/.test(name))
}

function byFile(imports: readonly Import[]): Map<string, Import[]> {
  const groups = new Map<string, Import[]>()
  for (const one of imports) groups.set(one.from, [...(groups.get(one.from) ?? []), one])
  return groups
}

/** One circle through each file that is in one. */
function circles(graph: ReadonlyMap<string, readonly Import[]>): string[] {
  const found: string[] = []
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]) => {
    const at = path.indexOf(file)
    if (at !== -1) return void found.push([...path.slice(at), file].join(' → '))
    if (done.has(file)) return
    for (const { to } of graph.get(file) ?? []) visit(to, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  return found
}

function said(imports: readonly Import[]): string[] {
  return imports.map(({ from, to }) => `${from} → ${to}`)
}
