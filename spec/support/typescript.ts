import { spawn } from 'node:child_process'
import { extname, join } from 'node:path'

/** What a process of Node takes to load TypeScript as specs do. */
export const TYPESCRIPT = ['--require', join(process.cwd(), 'scripts/typescript.cjs')]

/** The file of a program that a spec starts: TypeScript, or JavaScript where the specs are compiled. */
export function programOf(folder: string, name: string): string {
  return join(folder, name + extname(__filename))
}

/** Starts a program in a process of its own. Its argument is JSON; its output can be read. */
export function spawnProgram(folder: string, name: string, args: object, env: NodeJS.ProcessEnv = {}) {
  return spawn(process.execPath, [...TYPESCRIPT, programOf(folder, name), JSON.stringify(args)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '', NODE_NO_WARNINGS: '1', ...env },
  })
}
