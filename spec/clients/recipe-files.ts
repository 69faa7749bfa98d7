import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { page } from '../support/markdown'

const load = createRequire(__filename)

/**
 * The recipes of a page as files of a folder. Their bearer checks have other options than the page.
 *
 * @param options lines that declare `options`
 */
export function recipesIn(home: string, path: string, options: string): (file: string) => Record<string, unknown> {
  const folder = join(home, path.replace(/\W+/g, '-'))
  mkdirSync(folder, { recursive: true })
  for (const { file, text } of page(process.cwd(), path).blocks) {
    if (file) writeFileSync(join(folder, file), withOptions(text, options))
  }
  return (file) => load(join(folder, file)) as Record<string, unknown>
}

/** A sample whose bearer check has other options. */
export function withOptions(text: string, options: string): string {
  const own = text.replace(/issuer: '[^']+',\s+audience: '[^']+'/, '...options')
  return text.includes('requireBearer({') ? `${options}\n${own}` : own
}
