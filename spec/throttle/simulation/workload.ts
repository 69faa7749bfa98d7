import type { Simulation } from './simulation'
import type { Work } from './work'

/** The first requests come so long after the processes have started, µs. */
const FIRST_US = 60_000

/** Requests of each subject come at random, some in bursts, with durations that drift. */
export function scheduleRequests(sim: Simulation): void {
  const { scenario, random, loop } = sim
  if (sim.mode === 'changing') return scheduleAttack(sim)
  for (const work of sim.works) {
    const { windowUs, isHot } = scenario
    const only = !isHot && random.chance(0.3) ? random.int(0, scenario.processes - 1) : undefined
    const quietPart = random.pick([0, 0.3, 0.5])
    let scale = 1
    const next = (): void => {
      const part = (loop.now - work.startOf(work.number())) / windowUs
      if (part >= 1 - quietPart) return loop.after((1 - part) * windowUs + random.exponential(scenario.gapUs), next)
      const count = random.chance(scenario.bursts) ? random.int(2, 40) : 1
      if (random.chance(0.01)) scale = random.pick([0.5, 1, 2, 4])
      for (let i = 0; i < count; i++) ask(sim, work, only, scale)
      const pause = random.chance(0.01) ? random.exponential(windowUs / 2) : 0
      loop.after(Math.max(200, random.exponential(scenario.gapUs * count)) + pause, next)
    }
    loop.after(FIRST_US + random.fraction() * windowUs * 0.5, next)
  }
}

/** In each window another process is asked, for more than may run at once, which takes a limit and looked short. */
function scheduleAttack(sim: Simulation): void {
  const { scenario, random, loop } = sim
  const { windowUs, limitUs } = scenario
  for (const work of sim.works) {
    const attack = (window: number): void => {
      const process = sim.processes[window % sim.processes.length]
      for (let i = 0; i < 36; i++)
        if (process) sim.request(process, work, { us: limitUs, limitUs: random.pick(scenario.plans), route: 0 })
      loop.at(work.startOf(work.number() + 1) + 40_000, () => attack(window + 1))
    }
    loop.at(work.startOf(work.number(FIRST_US) + 1) + windowUs * random.fraction() * 0.3, () => attack(0))
  }
}

function ask(sim: Simulation, work: Work, only: number | undefined, scale: number): void {
  const { scenario, random } = sim
  const { windowUs, isHot, meanUs, mode } = scenario
  const route = random.int(0, 1)
  const isLong = !isHot && random.chance(0.02)
  const usual = random.exponential(meanUs * (scenario.routeFactors[route] as number) * scale)
  const took = isHot ? meanUs * (0.5 + random.fraction()) : isLong ? random.fraction() * 2 * windowUs : usual
  const us = Math.max(200, Math.round(took))
  const own = only === undefined ? undefined : sim.processes[only]
  const process = own && !own.isDead ? own : random.pick(sim.processes)
  const limitUs = random.pick(scenario.plans)
  const patienceUs = random.happens(scenario.leaving) ? random.fraction() * 500_000 : undefined
  const waits = (mode === 'clients' || mode === 'everything') && random.chance(0.3)
  const clientWait = waits
    ? { afterUs: Math.round(us * random.fraction()), us: Math.round(random.exponential(scenario.limitUs / 3)) }
    : undefined
  process.guarded(() => sim.request(process, work, { us, limitUs, route, patienceUs, clientWait }))()
}
