import { extname, join } from 'node:path'

/** What a process of Node takes to load TypeScript as specs do. */
export const TYPESCRIPT = ['--require', join(process.cwd(), 'scripts/typescript.cjs')]

/** The file of a program that a spec starts: TypeScript, or JavaScript where the specs are compiled. */
export function programOf(folder: string, name: string): string {
  return join(folder, name + extname(__filename))
}
