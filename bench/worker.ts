import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { cpus } from 'node:os'
import { join } from 'node:path'

const has = (command: string) => spawnSync(command, ['--version']).status === 0

/** A quick run has no figures to keep steady. Else, where there are two cores and a way to choose, servers have the first, and everything else the second. */
export const pinned = !process.argv.includes('--quick') && cpus().length > 1 && has('taskset')
/** What runs so takes only what its core has left: Redis, which has the same core, gets it at once. */
const idle = pinned && has('chrt') ? ['chrt', '--idle', '0'] : []

/** Keeps this process on the second core, and with it each redis-server that it starts. */
export function stayBesideServers(): void {
  if (pinned) spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', '1', String(process.pid)])
}

/** A process of the bench that answers each message by one. */
export class Worker {
  readonly #child: ChildProcess
  #waiting: { resolve: (answer: never) => void; reject: (err: Error) => void } | undefined

  constructor(file: 'server' | 'load-generator') {
    const core = file === 'server' ? 0 : 1
    const place = pinned ? ['taskset', '-c', String(core), ...(core === 1 ? idle : [])] : []
    const [command = '', ...args] = [...place, process.execPath, '--expose-gc', join(__dirname, `${file}.js`)]
    this.#child = spawn(command, args, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, NODE_ENV: 'production' },
    })
    this.#child.on('message', (answer: object) => {
      const waiting = this.#waiting
      this.#waiting = undefined
      if ('error' in answer) waiting?.reject(new Error(`${file}: ${String(answer.error)}`))
      else waiting?.resolve(answer as never)
    })
    this.#child.on('exit', (code) => this.#waiting?.reject(new Error(`${file} ended with ${code} amid its work`)))
  }

  ask<T>(message: object): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#child.send(message)
    })
  }

  stop(): void {
    this.#child.removeAllListeners('exit')
    this.#child.kill('SIGKILL')
  }
}
