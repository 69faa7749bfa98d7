import { fork } from 'node:child_process'
import { once } from 'node:events'
import { get } from '../../support/serve'
import type { ApiConfig, Report, Revoked } from './api'
import { TYPESCRIPT, programOf } from '../../support/typescript'

/** A process of the API. */
export interface Child {
  readonly url: string
  get(path: string, headers: Record<string, string>): ReturnType<typeof get>
  /** With a bearer token. */
  status(token: string): Promise<number>
  /** Revokes there, and says whether Redis has it. */
  revoke(revoked: Revoked): Promise<boolean>
  kill(): Promise<void>
}

/** Starts the API in a process of its own, and waits until it listens. */
export async function startChild(owner: { after(fn: () => Promise<void>): void }, config: ApiConfig): Promise<Child> {
  const child = fork(programOf(__dirname, 'api'), [JSON.stringify(config)], {
    execArgv: TYPESCRIPT,
    env: { ...process.env, NODE_OPTIONS: '', NODE_NO_WARNINGS: '1' },
  })
  const exit = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await exit
  }
  owner.after(kill)
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    get: (path, headers) => get(url + path, headers),
    status: async (token) => (await get(url, { authorization: `Bearer ${token}` })).status,
    revoke: (revoked) =>
      new Promise((resolve) => {
        child.on('message', function listener({ id, written }: Report) {
          if (id !== revoked.id) return
          child.off('message', listener)
          resolve(written)
        })
        child.send(revoked)
      }),
    kill,
  }
}
