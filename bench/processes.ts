import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { cpus } from 'node:os'
import { join } from 'node:path'

/** Where there are two cores and a way to choose, servers have the first, and everything else has the second. A quick run has no figures to keep steady. */
export const pinned =
  !process.argv.includes('--quick') && cpus().length > 1 && spawnSync('taskset', ['--version']).status === 0

/** Keeps this process on a core, or on any, and with it what it starts from then on without one: each redis-server. */
export function stayOn(core: 1 | undefined): void {
  if (pinned) spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', coresOf(core), String(process.pid)])
}

function coresOf(core: 0 | 1 | undefined): string {
  return core === undefined ? `0-${cpus().length - 1}` : String(core)
}

/** Where the system has a way to say so: such a process runs while nothing else wants its core, and takes no turn of it. */
export const idle = pinned && spawnSync('chrt', ['--version']).status === 0

/** A process of the bench that answers each message by one. */
export class Worker {
  readonly #child: ChildProcess
  readonly #name: string
  #waiting: { resolve: (answer: never) => void; reject: (err: Error) => void } | undefined

  /**
   * @param core undefined: any
   * @param how `idle`: it gets what its core has left. Else the flags of Node
   */
  constructor(
    file: string,
    core: 0 | 1 | undefined,
    args: readonly string[] = [],
    how: readonly string[] | 'idle' = [],
  ) {
    const isIdle = how === 'idle'
    const [command, ...rest] = [
      ...(pinned ? ['taskset', '-c', coresOf(core)] : []),
      ...(isIdle && idle ? ['chrt', '--idle', '0'] : []),
      process.execPath,
      ...(isIdle ? [] : how),
      join(__dirname, `${file}.js`),
      ...args,
    ] as [string, ...string[]]
    this.#name = file
    this.#child = spawn(command, rest, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, NODE_ENV: 'production' },
    })
    this.#child.on('message', (answer) => {
      const waiting = this.#waiting
      this.#waiting = undefined
      if ('error' in (answer as object)) waiting?.reject(new Error(`${file}: ${(answer as { error: string }).error}`))
      else waiting?.resolve(answer as never)
    })
    this.#child.on('exit', (code) => this.#waiting?.reject(new Error(`${file} ended with ${code} amid its work`)))
  }

  /** The answer to a message, or the first word of a process that speaks by itself. */
  ask<T>(message?: object): Promise<T> {
    if (this.#waiting) throw new Error(`${this.#name} has not answered yet`)
    return new Promise<T>((resolve, reject) => {
      this.#waiting = { resolve, reject }
      if (message) this.#child.send(message)
    })
  }

  stop(): void {
    this.#child.removeAllListeners('exit')
    this.#child.kill('SIGKILL')
  }
}
