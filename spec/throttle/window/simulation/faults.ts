import type { Simulation } from './simulation'

type Fault = (simulation: Simulation, windowUs: number) => void

/** Commands may be this late, and a rollback goes back no further. */
const OLDEST_US = 3_000_000

/** Redis is killed and started again without a file, or flushed: all is gone. */
function loss(simulation: Simulation): void {
  simulation.fault('data')
  if (simulation.random.chance(0.6)) simulation.redis.restartEmpty()
  else simulation.redis.flush()
}

/** Single windows are evicted, some of them at once. */
function eviction(simulation: Simulation): void {
  const { random, redis } = simulation
  simulation.fault('data')
  for (let i = random.int(1, 3); i > 0; i--) redis.evict((count) => random.int(0, count - 1))
}

/** One field of one window cannot be read any more. */
function damage(simulation: Simulation): void {
  const { random, redis } = simulation
  simulation.fault('damage')
  redis.damage((count) => random.int(0, count - 1))
}

/** Redis goes back to what it had a while ago. */
function rollback(simulation: Simulation): void {
  const { loop, random, redis } = simulation
  const snapshot = redis.snapshot()
  loop.after(random.fraction() * random.pick([50_000, 1_000_000, OLDEST_US]), () => {
    simulation.fault('rollback')
    redis.rollback(snapshot)
  })
}

/** Redis cannot be reached by anybody, and is sometimes empty afterwards. */
function outage(simulation: Simulation): void {
  const { loop, random, redis } = simulation
  if (!redis.isUp) return
  const us = random.fraction() * 1_500_000
  simulation.fault('reach', us)
  redis.isUp = false
  loop.after(us, () => {
    if (random.chance(0.3)) loss(simulation)
    redis.isUp = true
    redis.announce()
  })
}

/** One process cannot reach Redis. */
function partition(simulation: Simulation): void {
  const { loop, random, processes } = simulation
  const process = random.pick(processes)
  if (process.isPartitioned) return
  process.isPartitioned = true
  const us = random.fraction() * 3_000_000
  simulation.fault('reach', us)
  loop.after(us, () => {
    process.isPartitioned = false
    process.store.reconnected()
  })
}

function kill(simulation: Simulation): void {
  simulation.replace(simulation.random.int(0, simulation.processes.length - 1), 'kill')
}

/** A process is replaced after SIGTERM; now and then all of them are, one after another. */
function close(simulation: Simulation): void {
  const { loop, random, processes } = simulation
  const from = random.int(0, processes.length - 1)
  const count = random.chance(0.3) ? processes.length : 1
  for (let i = 0; i < count; i++) {
    loop.after(i * 200_000, () => simulation.replace((from + i) % processes.length, 'close'))
  }
}

/** A process is stopped for moments or for minutes, with its machine or without. */
function stop(simulation: Simulation, windowUs: number): void {
  const { random, processes } = simulation
  const process = random.pick(processes)
  if (process.isStopped) return
  const us = random.pick([100_000, 1_000_000, windowUs, 180_000_000 * random.fraction()])
  simulation.fault('stop', us)
  process.stop(us, random.chance(0.3))
}

/** A process's machine, or Redis's, has another time all of a sudden. */
function clock(simulation: Simulation, windowUs: number): void {
  const { random, redis, processes } = simulation
  const byUs = (random.fraction() * 2 - 1) * random.pick([300_000, windowUs, 3_600_000_000])
  simulation.fault('clock')
  if (random.chance(0.6)) redis.setClock(Math.round(byUs))
  else random.pick(processes).stop(random.fraction() * 2_000_000, true)
}

/** What happens in the modes that have faults. */
export const FAULTS = {
  killed: [kill],
  closed: [close],
  paused: [stop],
  lost: [loss, close, close],
  evicted: [eviction, eviction, damage, close],
  rolledBack: [rollback, rollback, close, kill],
  cutOff: [outage, partition],
  clocks: [clock],
  everything: [loss, eviction, damage, rollback, outage, partition, kill, close, close, stop],
} as const satisfies Record<string, readonly Fault[]>

type FaultMode = keyof typeof FAULTS

/** Those of processes alone, and all others: each half is a file of specs, so that they run side by side. */
export const PROCESS_FAULTS: readonly FaultMode[] = ['killed', 'closed', 'paused']
export const STORE_FAULTS = (Object.keys(FAULTS) as FaultMode[]).filter((mode) => !PROCESS_FAULTS.includes(mode))

/** From time to time one of these happens. */
export function injectFaults(simulation: Simulation, faults: readonly Fault[], windowUs: number): void {
  const { loop, random } = simulation
  const next = () => {
    random.pick(faults)(simulation, windowUs)
    loop.after(300_000 + random.exponential(0.7 * windowUs), next)
  }
  loop.after(300_000 + random.fraction() * windowUs, next)
}
