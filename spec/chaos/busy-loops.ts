import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

/** Keeps every core busy, by as many processes as there are cores, until `stop()`. */
export async function busyLoops(): Promise<{ stop: () => Promise<void> }> {
  const loops = Array.from({ length: availableParallelism() }, start)
  await Promise.all(loops.map((loop) => once(loop, 'spawn')))
  return {
    stop: async () => {
      await Promise.all(
        loops.map(async (loop) => {
          const exit = once(loop, 'exit')
          loop.kill('SIGKILL')
          await exit
        }),
      )
    },
  }
}

function start(): ChildProcess {
  return spawn(process.execPath, [join(process.cwd(), 'spec/support/busy-loop.mjs')], { stdio: 'ignore' })
}
