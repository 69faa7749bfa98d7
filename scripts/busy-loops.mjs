// Keeps every processor busy while a script runs.
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** Looks now and then whether its parent is still there. */
const LOOP = `for (const parent = process.ppid; process.ppid === parent; ) for (const end = Date.now() + 500; Date.now() < end; );`

/**
 * Starts as many loops as there are processors. They end with this process, however it ends.
 *
 * @returns {number} how many
 */
export function startBusyLoops() {
  const loops = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['-e', LOOP], { stdio: 'ignore' }),
  )
  process.once('exit', () => loops.forEach((loop) => loop.kill('SIGKILL')))
  return loops.length
}
