import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { spawnProgram } from '../../support/typescript'

export interface ChildServer {
  readonly origin: string
  kill(): Promise<void>
}

/** They end with this process. */
const running = new Set<ReturnType<typeof spawnProgram>>()
process.once('exit', () => running.forEach((child) => child.kill('SIGKILL')))

/** Starts a program of this folder, named without its ending, in a process of its own; its first line says on which port it listens. */
export async function startChild(program: string, args: object): Promise<ChildServer> {
  const child = spawnProgram(__dirname, program, args)
  const exit = once(child, 'exit')
  running.add(child)
  const lines = createInterface(child.stdout)
  const [port] = (await Promise.race([once(lines, 'line'), exit.then(() => [undefined])])) as [string | undefined]
  if (port === undefined) throw new Error(`${program} ended before it listened`)
  return {
    origin: `http://127.0.0.1:${port}`,
    async kill() {
      child.kill('SIGKILL')
      await exit
    },
  }
}
