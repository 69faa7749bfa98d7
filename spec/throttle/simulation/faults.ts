import type { Mode } from './scenario'
import type { SimulatedProcess } from './simulated-process'
import type { Simulation } from './simulation'

export type FaultKind = 'kill' | 'close' | 'data' | 'rollback' | 'evict' | 'outage' | 'cut' | 'stall'

/** Something that went wrong, in simulated time. */
export interface Fault {
  readonly kind: FaultKind
  readonly from: number
  to: number
  readonly process?: SimulatedProcess
}

type Schedule = (kind: FaultKind, every: number, happen: (fault: Fault) => boolean) => void

/** Faults of the run's mode, at random times. */
export function scheduleFaults(sim: Simulation): void {
  const { random, loop, mode, faults } = sim
  const has = (kind: Mode) => mode === kind || (mode === 'everything' && random.chance(0.5))
  const schedule: Schedule = (kind, every, happen) => {
    const again = () => {
      const fault = { kind, from: loop.now, to: loop.now }
      if (happen(fault)) faults.push(fault)
      loop.after(random.exponential(every) + 100_000, again)
    }
    loop.after(random.exponential(every), again)
  }
  const { windowUs } = sim.scenario
  if (has('killed')) schedule('kill', windowUs, (fault) => kill(sim, fault))
  if (has('closed')) schedule('close', windowUs, (fault) => close(sim, fault))
  if (has('lost')) schedule('data', windowUs, () => loseData(sim))
  if (has('rolledBack')) rollBack(sim, schedule)
  if (has('evicted')) schedule('evict', windowUs / 2, () => evict(sim))
  if (has('outage')) schedule('outage', windowUs, (fault) => breakDown(sim, fault))
  if (has('cutOff')) schedule('cut', windowUs, (fault) => cutOff(sim, fault))
  if (has('stalls')) schedule('stall', windowUs / 2, (fault) => stall(sim, fault))
}

function any(sim: Simulation, fault: Fault): SimulatedProcess | undefined {
  const { alive } = sim
  if (alive.length === 0) return undefined
  const process = sim.random.pick(alive)
  Object.assign(fault, { process })
  return process
}

function kill(sim: Simulation, fault: Fault): boolean {
  const process = any(sim, fault)
  if (!process) return false
  process.kill()
  sim.startProcess()
  return true
}

function close(sim: Simulation, fault: Fault): boolean {
  const process = any(sim, fault)
  if (!process || sim.alive.length < 2) return false
  if (sim.scenario.isLossy) process.noteHeld()
  fault.to = sim.loop.now + 500_000
  process.close(() => (fault.to = sim.loop.now))
  sim.startProcess()
  return true
}

function loseData({ model }: Simulation): boolean {
  model.hashes.clear()
  model.beats.clear()
  model.token++
  return true
}

function rollBack({ model, loop, random, scenario }: Simulation, schedule: Schedule): void {
  let old = model.snapshot()
  const keep = () => {
    old = model.snapshot()
    loop.after(random.exponential(1_000_000), keep)
  }
  keep()
  schedule('rollback', scenario.windowUs, () => {
    model.restore(old)
    model.token++
    return true
  })
}

function evict({ model, random }: Simulation): boolean {
  const keys = [...model.hashes.keys()]
  if (keys.length === 0) return false
  model.hashes.delete(random.pick(keys))
  model.token++
  return true
}

function breakDown(sim: Simulation, fault: Fault): boolean {
  const { loop, random } = sim
  sim.isStoreUp = false
  fault.to = Infinity
  loop.after(random.pick([30_000, 300_000, 3_000_000]) * random.fraction(), () => {
    sim.isStoreUp = true
    fault.to = loop.now
    if (sim.refusesAtOnce) for (const { store } of sim.alive) store.reconnected()
  })
  return true
}

function cutOff(sim: Simulation, fault: Fault): boolean {
  const process = any(sim, fault)
  if (!process) return false
  const { loop, random } = sim
  process.isCutOff = true
  fault.to = Infinity
  loop.after(random.pick([300_000, 3_000_000]) * random.fraction(), () => {
    process.isCutOff = false
    fault.to = loop.now
  })
  return true
}

function stall(sim: Simulation, fault: Fault): boolean {
  const process = any(sim, fault)
  if (!process) return false
  const { loop, random } = sim
  process.blockedUntil = Math.round(loop.now + random.fraction() * random.pick([50_000, 300_000, 3_000_000]))
  process.wasBlocked = true
  fault.to = process.blockedUntil
  return true
}
