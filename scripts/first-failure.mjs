// A reporter of node:test that ends the run at the first failure, or where it waits for nothing: a mutant is killed
// then. A process that has no share of a busy machine is not one that waits: its timers come late.
const TICK_MS = 1_000
const IDLE_TICKS = 20

export default async function* (events) {
  const idle = setInterval(watch, TICK_MS).unref() // the run ends when nothing else keeps it up
  let ticks = 0
  let last = { at: performance.now(), cpu: process.cpuUsage() }
  for await (const { type, data } of events) {
    ticks = 0
    if (type === 'test:fail') end(data.name)
  }
  clearInterval(idle)

  function watch() {
    const now = { at: performance.now(), cpu: process.cpuUsage() }
    const spentMs = (now.cpu.user + now.cpu.system - last.cpu.user - last.cpu.system) / 1_000
    ticks = spentMs < 50 && now.at - last.at < 1.2 * TICK_MS ? ticks + 1 : 0
    last = now
    if (ticks === IDLE_TICKS) end('waits for nothing')
  }
}

function end(why) {
  console.error(why)
  process.exit(1)
}
