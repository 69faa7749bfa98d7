// Keeps the load generator's core busy whenever nothing else wants it: a core that sleeps takes its time to wake, which
// the servers that are measured would be charged with, and those that answer late more than others. Runs as the last
// of all, so that it takes nothing from the generator and from Redis: where the system has `chrt` as an idle process,
// since Linux lets one of low priority alone end its turn of 3 ms before Redis gets the core.
import { constants, setPriority } from 'node:os'

const STRETCH_MS = 5

setPriority(constants.priority.PRIORITY_LOW)
process.on('disconnect', () => process.exit()) // looked at between two stretches
process.send?.({})
spin()

function spin(): void {
  const end = performance.now() + STRETCH_MS
  while (performance.now() < end);
  setImmediate(spin)
}
