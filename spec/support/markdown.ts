import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Page {
  /** Relative to the project, with slashes: `docs/testing.md`. */
  readonly path: string
  readonly headings: readonly { readonly at: number; readonly title: string }[]
  /** What `#` may be followed by in a link to this page, as GitHub makes it. */
  readonly anchors: ReadonlySet<string>
  readonly blocks: readonly Block[]
  /** Targets of links outside code. */
  readonly links: readonly string[]
  /** What stands between single backticks outside blocks. */
  readonly inlineCode: readonly string[]
}

export interface Block {
  readonly language: string
  /** What the fence names after its language: `ts file=store.ts`. */
  readonly file: string | undefined
  readonly text: string
  /** The heading that it stands under. */
  readonly heading: string
  readonly line: number
}

/** The pages that people read: those at the top, the lists of examples and of corpora, and everything in docs/. */
export function pages(root: string): Page[] {
  const below = (folder: string) =>
    readdirSync(join(root, folder), { recursive: true })
      .map((name) => `${folder}/${String(name).replaceAll('\\', '/')}`)
      .filter((path) => path.endsWith('.md') && !/node_modules\/|^docs\/api\//.test(path))
      .sort()
  const alone = [
    'README.md',
    'CHANGELOG.md',
    'CODE_OF_CONDUCT.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'examples/README.md',
    'spec/corpora/README.md',
  ]
  return [...alone, ...below('docs')].map((path) => page(root, path))
}

export function page(root: string, path: string): Page {
  const source = readFileSync(join(root, path), 'utf8')
  const fences = [...source.matchAll(/^```(\w+)([^\n]*)\n([^]*?)^```$/gm)]
  let prose = source
  for (const { index, 0: whole } of fences) {
    prose = prose.slice(0, index) + whole.replace(/[^\n]/g, ' ') + prose.slice(index + whole.length)
  }
  const headings = [...prose.matchAll(/^#+ (.+)$/gm)].map(({ index, 1: title = '' }) => ({ at: index, title }))
  return {
    path,
    headings,
    anchors: anchors(headings.map(({ title }) => title)),
    blocks: fences.map(({ index, 1: language = '', 2: more = '', 3: text = '' }) => ({
      language,
      file: /\bfile=(\S+)/.exec(more)?.[1],
      text,
      heading: headings.findLast(({ at }) => at < index)?.title ?? '',
      line: source.slice(0, index).split('\n').length,
    })),
    links: [...prose.replace(/`[^`\n]+`/g, '`').matchAll(/\]\(([^)\s]+)\)/g)].map(([, to = '']) => to),
    inlineCode: [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code),
  }
}

/** GitHub's: lower case, letters, digits, `-` and `_` alone, blanks as `-`, a second one of a name numbered. */
function anchors(titles: readonly string[]): Set<string> {
  const seen = new Map<string, number>()
  return new Set(
    titles.map((title) => {
      const text = title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
      const anchor = text.replace(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-')
      const before = seen.get(anchor) ?? 0
      seen.set(anchor, before + 1)
      return before === 0 ? anchor : `${anchor}-${before}`
    }),
  )
}
