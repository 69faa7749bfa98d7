import { join } from 'node:path'

/** What a process of Node takes to load TypeScript as specs do. */
export const TYPESCRIPT = ['--require', join(process.cwd(), 'scripts/typescript.cjs')]
