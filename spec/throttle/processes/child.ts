import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import type { ThrottleOptions } from '../../../lib'
import { type Answer, get } from '../../support/serve'
import { until } from '../../support/until'
import { spawnProgram } from '../../support/typescript'

export interface Child {
  readonly pid: number
  /** The lines it has said: `degraded`, `recovered`, `worked <user> <ms>`, `charged <user> <ms>`. */
  readonly lines: string[]
  get(path: string, user: string): Promise<Answer>
  /** With an access token instead. */
  getAs(path: string, token: string): Promise<Answer>
  usage(user: string): Promise<{ spentMs: number; degraded: boolean }>
  kill(signal: NodeJS.Signals): Promise<void>
}

/** Starts api.ts in a process of its own, and waits until it answers. */
export async function startApi(
  t: TestContext,
  redisPort: number,
  options: ThrottleOptions,
  bearer?: { issuer: string; audience: string; secret: string },
): Promise<Child> {
  const child = spawnProgram(__dirname, 'api', { redis: `redis://127.0.0.1:${redisPort}`, options, bearer })
  const exit = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await exit
  })
  const lines: string[] = []
  createInterface(child.stdout).on('line', (line) => lines.push(line))
  const port = () => /^port (\d+)$/.exec(lines[0] ?? '')?.[1]
  await until(() => port() !== undefined || child.exitCode !== null)
  const url = `http://127.0.0.1:${port()}`
  return {
    pid: child.pid as number,
    lines,
    get: (path, user) => get(url + path, { 'x-user': user }),
    getAs: (path, token) => get(url + path, { authorization: `Bearer ${token}` }),
    usage: async (user) =>
      (JSON.parse((await get(`${url}/usage/${user}`)).body) as [{ spentMs: number; degraded: boolean }])[0],
    kill: async (signal) => {
      child.kill(signal)
      await exit
    },
  }
}
