// A process that does nothing but wait, 5 ms at a time, and says how late it woke: what the machine does to anybody.
// Started by stalls(); answers a message with [moment, late] of each wait, in microseconds and milliseconds.
const WAIT_MS = 5
let lates: [at: number, lateMs: number][] = []

function wait(): void {
  const from = performance.now()
  setTimeout(() => {
    lates.push([Math.round(Number(process.hrtime.bigint()) / 1_000), performance.now() - from - WAIT_MS])
    wait()
  }, WAIT_MS)
}

wait()
process.on('message', () => {
  process.send?.(lates)
  lates = []
})
process.on('disconnect', () => process.exit(0))
