// Writes the pages of options from the doc comments of lib/: a heading for each option of a factory, with its comment, and
// a row for each property of an option that is an object. A factory whose options are all of a sentence has one table. `npm run api-report` runs it; --check fails where a page is out
// of date.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

const root = join(import.meta.dirname, '..')
const BEGIN = '<!-- Written by npm run api-report from doc comments. Do not edit. -->'
const MISUSE =
  'An unknown option, a value out of range or a contradiction throws when the factory is called. The message names the option, the allowed values and the value received, but never a secret.'
const PAGES = [
  {
    file: 'docs/options.md',
    entry: 'lib/index.ts',
    begin: `# Options

Reference: every option of the middleware and the smaller factories. Options of other parts: [\`authorizationServer()\`](authorization-server-options.md), [\`throttleDashboard()\`](dashboard.md), [\`pacedFetch()\`](client.md), [issuer presets](providers.md).`,
    names: [
      ...['throttle', 'requireBearer', 'allowUnauthenticated', 'requireStepUp', 'serviceUnavailable'],
      ...['redisStore', 'redisRevocations', 'redisProofs', 'protectedResource'],
    ],
  },
  {
    file: 'docs/authorization-server-options.md',
    entry: 'lib/oauth/index.ts',
    begin: `# Options of the authorization server

Reference: every option of \`authorizationServer()\`, and every property of an app, a user and a registration. The guide is [The authorization server](authorization-server.md).`,
    names: [
      ...['authorizationServer', 'clientDirectory', 'userDirectory', 'redisOAuthStore', 'memoryOAuthStore'],
      ...['ClientMetadata', 'RegistrationGrant', 'PageTexts'],
    ],
  },
  {
    file: 'docs/reference.md',
    entry: 'lib/index.ts',
    begin: `# Objects, methods and events

Reference: what the package gives you at run time. Options are in [Options](options.md), error codes in [Error handling](errors.md).`,
    members: {
      'req.throttle': 'RequestBudget',
      'What throttle() returns': 'Throttle',
      'usage()': 'Usage',
      'advise()': 'Advice',
      'req.auth': 'Session',
      'err.figures': 'RefusalFigures',
      'Event express-tollgate:admitted': 'AdmittedMessage',
      'Event express-tollgate:refused': 'RefusedMessage',
      'Event express-tollgate:charged': 'ChargedMessage',
      'Event express-tollgate:synced': 'SyncedMessage',
      'Events express-tollgate:degraded and express-tollgate:recovered': 'StoreMessage',
      'Event express-tollgate:overload': 'OverloadMessage',
      'Event express-tollgate:bearer': 'BearerMessage',
    },
  },
]

const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (file) => ts.sys.readFile(file))
const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
const entries = PAGES.map(({ entry }) => join(root, entry))
const program = ts.createProgram(entries, options)
const checker = program.getTypeChecker()

/** Options and members that have no comment: they would be a name and a type to the reader. */
const undocumented = new Set()

const stale = PAGES.filter(({ file, entry, begin, names = [], members }) => {
  const faces = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(join(root, entry))))
  const written = new Set()
  const find = (name) => actual(faces.find((face) => face.name === name))
  const sections = members
    ? Object.entries(members).map(([title, name]) => membersOf(title, find(name)))
    : [MISUSE, ...names.map((name) => sectionOf(find(name), written))]
  const text = `${[BEGIN, begin, ...sections].join('\n\n')}\n`
  if (readFileSync(join(root, file), 'utf8') === text) return false
  if (!process.argv.includes('--check')) writeFileSync(join(root, file), text)
  return true
})
if (undocumented.size > 0) {
  console.error(`without a doc comment: ${[...undocumented].join(', ')}`)
  process.exit(1)
}
if (stale.length > 0 && process.argv.includes('--check')) {
  console.error(`out of date: ${stale.map(({ file }) => file).join(', ')}; npm run api-report`)
  process.exit(1)
}

function actual(symbol) {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}

/** A type as a table, or a factory with a heading for each option; an option that stands above already is linked. */
function sectionOf(symbol, written) {
  if (!(symbol.flags & ts.SymbolFlags.Function)) {
    const texts = symbol.name === 'PageTexts' ? english() : undefined
    const table = tableOf(checker.getDeclaredTypeOfSymbol(symbol), written, texts)
    return [`## ${symbol.name}`, commentOf(symbol), table].join('\n\n')
  }
  const [{ parameters }] = checker.getSignaturesOfType(checker.getTypeOfSymbol(symbol), ts.SignatureKind.Call)
  const properties = parameters.flatMap((parameter) => propertiesOf(checker.getTypeOfSymbol(parameter)))
  const isWritten = ({ declarations: [at] }) => written.has(at)
  const factory = new Set(properties.map(({ declarations: [at] }) => at))
  const above = properties.filter(isWritten).map(({ name }) => `[\`${name}\`](#${name.toLowerCase()})`)
  const own = properties
    .filter((property) => !isWritten(property))
    .map((property) => [property, documented(property), tableOf(checker.getTypeOfSymbol(property), factory)])
  // Options of a sentence each are rows of one table.
  const isTable = own.every(([, comment, table]) => !comment.includes('\n') && table === '')
  const rows = own.map(([{ name }, comment]) => rowOf(name, comment))
  const texts = isTable
    ? [['| Option | Value |', '| --- | --- |', ...rows].join('\n')]
    : own.map(([{ name }, comment, table]) => [`### ${name}`, comment, table].filter(Boolean).join('\n\n'))
  for (const { declarations } of properties) written.add(declarations[0])
  const also = above.length > 0 ? [`Also ${above.join(', ')}: see above.`] : []
  return [`## ${symbol.name}()`, commentOf(symbol), ...texts, ...also].join('\n\n')
}

/** What an object has, methods included. Of a union, what any of its members has. */
function membersOf(title, symbol) {
  const type = checker.getDeclaredTypeOfSymbol(symbol)
  const found = new Map()
  for (const member of type.isUnion() ? type.types : [type]) {
    for (const property of checker.getPropertiesOfType(member)) {
      if (!isOfLib(property)) continue
      if (!commentOf(found.get(property.name))) found.set(property.name, property)
    }
  }
  const rows = [...found.values()].map((property) => {
    const text = [documented(property).split('\n\n```')[0], ...tagsOf(property)].filter(Boolean).join(' ')
    const isMethod = (property.flags & ts.SymbolFlags.Method) !== 0
    const name = property.name.replace(/^__@(\w+)@\d+$/, '[Symbol.$1]') // as the compiler writes a symbol
    return rowOf(`${name}${isMethod ? parametersOf(property) : ''}`, text)
  })
  return [`## ${title}`, commentOf(symbol), ['| Member | Meaning |', '| --- | --- |', ...rows].join('\n')].join('\n\n')
}

function parametersOf(method) {
  const [{ parameters }] = checker.getSignaturesOfType(checker.getTypeOfSymbol(method), ts.SignatureKind.Call)
  return `(${parameters.map(({ name, valueDeclaration }) => `${name}${valueDeclaration.questionToken ? '?' : ''}`).join(', ')})`
}

/** What a method takes and throws, as sentences. */
function tagsOf(symbol) {
  return symbol
    .getJsDocTags(checker)
    .filter(({ name }) => name === 'param' || name === 'throws')
    .map(({ name, text }) => {
      const said = ts.displayPartsToString(text).replaceAll('\n', ' ')
      return name === 'throws' ? `Throws ${said.replace(/^\{?(\w+)\}? /, '`$1` ')}.` : `\`${said.replace(' ', '`: ')}.`
    })
}

function isOfLib({ declarations = [] }) {
  return declarations[0]?.getSourceFile().fileName.startsWith(join(root, 'lib')) ?? false
}

/** The properties of an object, of all members of a union, and of a list's elements. */
function propertiesOf(type) {
  const found = new Map()
  for (const member of type.isUnion() ? type.types : [type]) {
    const element = checker.isArrayType(member) ? checker.getTypeArguments(member)[0] : undefined
    const properties = element ? propertiesOf(element) : isOptions(member) ? checker.getPropertiesOfType(member) : []
    for (const property of properties) {
      if (!commentOf(found.get(property.name))) found.set(property.name, property)
    }
  }
  return [...found.values()]
}

/** Whether it is an object of this package that has values: no function, no store, no clock. */
function isOptions(type) {
  if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) return false
  const properties = checker.getPropertiesOfType(type)
  const isOurs = ({ declarations = [] }) => declarations[0]?.getSourceFile().fileName.startsWith(join(root, 'lib'))
  const isMethod = (property) => (property.flags & ts.SymbolFlags.Method) !== 0
  const isOpen = checker.getIndexInfosOfType(type).length > 0 // a JWK
  return !isOpen && type.getCallSignatures().length === 0 && properties.every(isOurs) && !properties.some(isMethod)
}

/** The texts of the pages, by name. */
function english() {
  const source = program.getSourceFile(join(root, 'lib/oauth/pages/texts.ts'))
  const declarations = source.statements.flatMap((each) => each.declarationList?.declarations ?? [])
  const { initializer } = declarations.find(({ name }) => name.text === 'ENGLISH')
  return new Map(initializer.properties.map((each) => [each.name.text, textOf(each.initializer)]))
}

/** A literal, or several with `+` between. */
function textOf(node) {
  return ts.isBinaryExpression(node) ? textOf(node.left) + textOf(node.right) : node.text
}

/** A row for each property: its text, if it is one of a page, else its comment. Those that have a text elsewhere are named. */
function tableOf(type, elsewhere, texts = new Map()) {
  const properties = propertiesOf(type)
  const isElsewhere = ({ declarations: [at] }) => elsewhere.has(at)
  const others = properties.filter(isElsewhere).map(({ name }) => `\`${name}\``)
  const rows = properties
    .filter((property) => !isElsewhere(property))
    .map((property) => rowOf(property.name, texts.get(property.name) || documented(property)))
  const table = rows.length > 0 ? ['| Property | Value |', '| --- | --- |', ...rows].join('\n') : ''
  return [table, others.length > 0 ? `Also ${others.join(', ')}, as on this page.` : ''].filter(Boolean).join('\n\n')
}

function rowOf(name, value) {
  return `| \`${name}\` | ${value.replaceAll('\n', ' ').replaceAll('|', '\\|')} |`
}

/** The comment that a property must have. */
function documented(property) {
  const text = commentOf(property)
  if (text === '') undocumented.add(`${property.parent?.name ?? ''}.${property.name}`)
  return text
}

/** A doc comment, with its example. Lines of a paragraph are one line. */
function commentOf(symbol) {
  const text = ts.displayPartsToString(symbol?.getDocumentationComment(checker)).replaceAll('*\\/', '*/')
  const example = symbol?.getJsDocTags(checker).find(({ name }) => name === 'example')
  const code = example && `\n\n\`\`\`typescript\n${ts.displayPartsToString(example.text)}\n\`\`\``
  const paragraphs = text
    .replace(/\{@link (\w+)[^}]*\}/g, '`$1`')
    .replace(/(?<!\n)\n(?!\n|[-*|])/g, ' ')
    .trim()
  return `${paragraphs}${code ?? ''}`
}
