import type { Simulation } from './simulation'

/** From time to time Redis loses what it has, cannot be reached, or a process is killed or cut off. */
export function injectFaults(simulation: Simulation, windowUs: number): void {
  const { loop, random } = simulation
  const next = () => {
    const kind = random.fraction()
    if (kind < 0.2) simulation.redis.restartEmpty()
    else if (kind < 0.3) simulation.redis.flush()
    else if (kind < 0.5) simulation.redis.failover(random.int(1, 30))
    else if (kind < 0.7) outage(simulation)
    else if (kind < 0.85) simulation.restart(random.int(0, simulation.processes.length - 1))
    else partition(simulation)
    loop.after(500_000 + random.exponential(0.6 * windowUs), next)
  }
  loop.after(random.fraction() * 1.5 * windowUs, next)
}

function outage({ loop, random, redis, outages }: Simulation): void {
  const us = random.fraction() * 1_500_000
  outages.push({ fromUs: loop.now, toUs: loop.now + us })
  redis.isUp = false
  loop.after(us, () => {
    if (random.chance(0.3)) redis.restartEmpty()
    redis.isUp = true
  })
}

function partition({ loop, random, processes, outages }: Simulation): void {
  const process = processes[random.int(0, processes.length - 1)]
  if (!process) return
  process.isPartitioned = true
  const us = random.fraction() * 3_000_000
  outages.push({ fromUs: loop.now, toUs: loop.now + us })
  loop.after(us, () => (process.isPartitioned = false))
}
