import { GRACE_US, TICK_US } from '../../../lib/throttle/budget/report'
import { ROUND_US } from './allowances'
import type { FaultKind } from './faults'
import type { Laws } from './laws'
import type { Hash } from './model'
import type { SimulatedProcess } from './simulated-process'
import type { Simulation } from './simulation'
import type { Work } from './work'

/** What is done in a window is in the store so long after, beside what the network takes. */
const TOLD_US = TICK_US + 60_000
/** A process looks at its accounts so often, at least. */
const ENTERED_US = 50_000
/** What a request held that has ended is given to others so long after, at most. */
const EXPIRED_US = GRACE_US + TICK_US + 125_000
const LOSSES: readonly FaultKind[] = ['data', 'rollback', 'evict']
const SILENCES: readonly FaultKind[] = ['outage', 'cut', 'stall']

/** Judges each window as it ends. */
export function watchWindows(sim: Simulation, laws: Laws): void {
  const { untilUs } = sim.scenario
  for (const work of sim.works) {
    for (let number = work.number(0); ; number++) {
      const end = work.startOf(number + 1)
      if (end >= untilUs) break
      sim.loop.at(end - 1, () => judge(sim, laws, work, number))
    }
  }
}

function judge(sim: Simulation, laws: Laws, work: Work, number: number): void {
  const hash = sim.model.hash(work.id, number)
  sumsAreSums(sim, hash)
  const isQuiet = hasBeenQuiet(sim, laws, work, number)
  for (const process of sim.processes) {
    neverMore(sim, laws, work, number, process, hash)
    if (isQuiet && sim.loop.now - process.bornAt >= TOLD_US + sim.roundTrip)
      conserved(sim, laws, work, number, process, hash)
    ownWindow(sim, laws, work, number, process)
  }
  burst(sim, laws, work, number)
  usedUp(sim, laws, work, number)
  excusedWithinCap(sim, laws, work, number)
  strainIsOvershoot(sim, laws, work, number)
}

function sumsAreSums(sim: Simulation, hash: Hash | undefined): void {
  if (!hash?.sums) return
  const { sums } = hash
  const sum = { used: sums.carried, held: 0, ahead: 0, running: 0, excused: 0, unseen: 0 }
  for (const field of hash.fields.values())
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += field[name]
  for (const name of Object.keys(sum) as (keyof typeof sum)[])
    if (Math.abs(sum[name] - sums[name]) > 1)
      sim.found('sums are the sums of the fields', { name, sum: sum[name], stored: sums[name] })
}

/** Nothing ran or asked for some time, so all should have been told. */
function hasBeenQuiet(sim: Simulation, laws: Laws, work: Work, number: number): boolean {
  const end = work.startOf(number + 1)
  const since = sim.loop.now - TOLD_US - sim.roundTrip
  const isAsked = sim.requests.some((one) => one.work === work && one.arrivedAt <= end && one.decidedAt >= since)
  if (isAsked || work.chargedAt >= since) return false
  return laws.admittedOf(work).every(({ endedAt, admittedAt }) => endedAt < since - 100_000 || admittedAt > end)
}

function slackOf(sim: Simulation, laws: Laws, work: Work, number: number, process: SimulatedProcess): number {
  const { allow } = laws
  const edge = allow.boundaryUs + sim.scenario.network.latestUs / 2
  const truth = work.used(number, process)
  const crossing = work.across(work.startOf(number), edge * 3, process)
  const mine = laws.admittedOf(work).reduce((n, one) => n + (one.process === process ? 1 : 0), 0)
  const drifted = sim.scenario.drift * truth * 2
  return (
    process.toleranceUs + ROUND_US * mine + edge * 3 * crossing + drifted + (process.wasBlocked ? allow.boundaryUs : 0)
  )
}

function neverMore(
  sim: Simulation,
  laws: Laws,
  work: Work,
  number: number,
  process: SimulatedProcess,
  hash?: Hash,
): void {
  const field = hash?.fields.get(process.name)
  const isStill = sim.loop.now < process.blockedUntil // what it was granted, and has not heard of, may have lapsed
  if (!field || process.isClosing || isStill || laws.allow.isRecent(undefined, ['rollback'])) return
  const truth = work.used(number, process)
  const { heldUs = 0 } = process.atDeath.get(`${work.id}/${number}`) ?? {}
  const unheard = process.unheardUs(work, number) + laws.allow.unfinishedUs(work, number)
  if (field.used > truth + slackOf(sim, laws, work, number, process) + heldUs + unheard)
    sim.found('the store never has more used than was', { number, process: process.id, used: field.used, truth })
}

function conserved(
  sim: Simulation,
  laws: Laws,
  work: Work,
  number: number,
  process: SimulatedProcess,
  hash?: Hash,
): void {
  const { allow } = laws
  const { isLossy } = sim.scenario
  const start = work.startOf(number)
  const truth = work.used(number, process)
  const field = hash?.fields.get(process.name)
  const has = field ? field.used + field.held : 0
  const slack = slackOf(sim, laws, work, number, process)
  const fact = { number, process: process.id, has, truth, slack, subject: work.subject }
  sim.checked++
  if ((process.isDead && !process.isClosed) || process.isClosing) {
    const { isClosing } = process
    if (allow.isRecent(start, LOSSES) || (isClosing && allow.isRecent(start, SILENCES))) return
    const { heldUs = 0 } = process.atDeath.get(`${work.id}/${number}`) ?? {}
    const untold = isClosing ? 0 : laws.untoldUs(process, work, number) + process.toleranceUs
    if (has < truth - slack - untold && !isLossy && !allow.isRecent(start, SILENCES))
      sim.found('conservation: what ended processes used', fact)
    if (has > truth + slack + heldUs + process.unheardUs(work, number))
      sim.found('conservation: what ended processes used, over', { ...fact, heldUs })
    return
  }
  if (isLossy || allow.isRecent(undefined, [...LOSSES, ...SILENCES, 'close'])) {
    if (!isLossy || allow.isRecent()) return
    // Commands get lost: the store may not have heard of the last seconds, but the process knows that.
    if (process.account(work)?.isTold !== true || process.isDown) return
    if (process.upSince > sim.loop.now - TOLD_US - sim.roundTrip) return
  }
  if (isAtRestSinceLoss(sim, laws, work, process)) return
  if (Math.abs(has - truth) > slack) sim.found('conservation: the store has what was used', fact)
}

/** The store lost its data, or has older ones, since anything went on: the process tells it with the subject's next request. */
function isAtRestSinceLoss(sim: Simulation, laws: Laws, work: Work, process: SimulatedProcess): boolean {
  const lostAt = Math.max(...sim.faults.filter(({ kind }) => LOSSES.includes(kind)).map(({ from }) => from))
  return laws.admittedOf(work).every((one) => one.process !== process || one.endedAt < lostAt)
}

/** The account's own sum at the window's end, as it entered the next one. */
function ownWindow(sim: Simulation, laws: Laws, work: Work, number: number, process: SimulatedProcess): void {
  const { mode, scenario, loop } = sim
  if (process.isDead || process.wasBlocked || mode === 'clocks' || mode === 'everything') return
  loop.after(ENTERED_US, () => {
    const own = process.ended.get(`${work.subject}/${number}`)
    if (own === undefined || process.isDead) return
    const truth = work.used(number, process)
    const slack = laws.allow.roundingUs + scenario.drift * truth * 2 + laws.allow.edgeUs(work, number) * 3 + 10
    const isFaulty = scenario.isLossy || laws.allow.isRecent(loop.now - 2 * scenario.windowUs, SILENCES)
    if (Math.abs(own - truth) > slack && !isFaulty)
      sim.found('a window is charged what was done in it', { number, process: process.id, own, truth, slack })
  })
}

function burst(sim: Simulation, laws: Laws, work: Work, number: number): void {
  const { scenario, mode } = sim
  const { allow } = laws
  const [start, end] = [work.startOf(number), work.startOf(number + 1)]
  const us = work.used(number)
  sim.fullest = Math.max(sim.fullest, us / scenario.limitUs)
  if (!(scenario.isCalm || mode === 'killed' || mode === 'closed' || mode === 'stalls') || scenario.isLossy) return
  let [longest, beyond, n] = [0, 0, 0]
  for (const one of laws.admittedOf(work)) {
    if (one.endedAt <= start || one.admittedAt >= end) continue
    n++
    longest = Math.max(longest, Math.min(one.countedUs, end - start))
    beyond += Math.max(0, one.countedUs - one.admittedPriceUs)
  }
  const carried = work.carried(number)
  const untold = sim.processes.reduce((sum, process) => sum + laws.untoldUs(process, work, number), 0)
  const rounding = ROUND_US * n + (carried > 0 ? allow.boundaryUs * 2 * n : 0)
  const charged = work.charged(number) + work.late(number)
  const brought = laws.strains.carriedKnown(work, number)
  const bound =
    Math.max(0, scenario.limitUs - brought) +
    charged +
    longest +
    beyond +
    carried +
    untold +
    allow.toleranceUs +
    rounding
  if (us > bound)
    sim.found('burst bound', { number, us, limitUs: scenario.limitUs, brought, longest, beyond, carried, untold, n })
}

/** The end of a budget is not stranded: a hot subject gets nearly all of it. */
function usedUp(sim: Simulation, laws: Laws, work: Work, number: number): void {
  if (sim.mode !== 'hot' || laws.wasSpent(work, number)) return
  const waits = sim.requests.some(
    (one) => one.work === work && !one.isDecided && one.arrivedAt < sim.loop.now - 600_000,
  )
  // A hold may keep places of requests that have ended until it expires, and a line asks again after a tenth of a second.
  const isGivenOut = laws.admittedOf(work).some(({ endedAt }) => endedAt > sim.loop.now - EXPIRED_US)
  const { limitUs, meanUs } = sim.scenario
  const us = work.used(number)
  if (waits && !isGivenOut && us < limitUs * 0.97 - 1.5 * meanUs - laws.allow.toleranceUs)
    sim.found('the end of a budget is not stranded', { number, us, limitUs })
}

/** Waits for clients are excused up to the cap over all processes, and what each process excuses within two ticks more. */
function excusedWithinCap(sim: Simulation, laws: Laws, work: Work, number: number): void {
  if (sim.mode !== 'clients') return
  const us = work.excused(number)
  const waits = laws
    .admittedOf(work)
    .filter(({ asked, endedAt }) => asked.clientWait && endedAt > work.startOf(number)).length
  const slack = laws.allow.toleranceUs + waits * (sim.heardWithin + 2 * TICK_US)
  const { clientWaitUs } = sim.scenario
  if (us > clientWaitUs + slack)
    sim.found('client waits are excused up to the cap', { number, us, clientWaitUs, slack })
}

/** A process that asks in a window knows at least its own overshoot, and never more than there was. */
function strainIsOvershoot(sim: Simulation, laws: Laws, work: Work, number: number): void {
  if (!sim.scenario.isCalm && sim.mode !== 'killed') return
  const { strains, allow } = laws
  const most = strains.most(work, number)
  for (const process of sim.alive) {
    const account = process.account(work)
    if (account?.number !== number || account.limitUs === 0) continue
    const limitUs = Math.min(...sim.scenario.plans)
    let near = (allow.toleranceUs + allow.roundingUs) / limitUs
    for (let window = work.number(0); window < number; window++)
      near += (allow.edgeUs(work, window) + allow.heldOfSilentUs(work, window)) / limitUs
    const isTold =
      sim.scenario.isCalm && process.simulated(account.heardAt) > work.startOf(number) + 2 * TOLD_US + 2 * sim.roundTrip
    const least = isTold ? strains.ofAll(work, number) : strains.ofProcess(work, number, process)
    const strain = account.past.strain / 100
    if (strain > most * 1.02 + near + 0.01 || strain < least * 0.98 - near - 0.01)
      sim.found('strain is what overshoot comes to', {
        number,
        process: process.id,
        strain,
        least,
        most,
        near,
        subject: work.subject,
      })
  }
}
