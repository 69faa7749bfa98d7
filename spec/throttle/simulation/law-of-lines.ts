import type { Account } from '../../../lib/throttle/budget/account'
import type { Hold } from '../../../lib/throttle/budget/hold'
import { PLACES } from '../../../lib/throttle/budget/past'
import { GRACE_US, LEASE_US, TICK_US } from '../../../lib/throttle/budget/report'
import { waitingOf } from '../spec-request'
import type { Laws } from './laws'
import type { SimulatedProcess } from './simulated-process'
import type { Simulation } from './simulation'
import type { Work } from './work'

const LOOK_US = 25_000

interface Fits {
  /** A request that was let in, and comes back since an inner window had no room, waits anew. */
  readonly joinedAt: number
  readonly since: number
  readonly mostUs: number
}

/** Nobody waits who fits: looks at the head of each line now and then. */
export function watchLines(sim: Simulation, laws: Laws): void {
  const { scenario, mode, loop } = sim
  if (!(scenario.isCalm || mode === 'killed' || mode === 'closed') || scenario.isLossy) return
  const fits = new Map<Hold, Fits>()
  const look = () => {
    loop.after(LOOK_US, look)
    for (const work of sim.works) lookAt(sim, laws, work, fits)
  }
  loop.after(LOOK_US, look)
}

function lookAt(sim: Simulation, laws: Laws, work: Work, fits: Map<Hold, Fits>): void {
  const number = work.number()
  const open: [SimulatedProcess, Account][] = []
  for (const process of sim.alive) {
    const account = process.account(work)
    if (!account) continue
    if (account.number === number) open.push([process, account])
    else if (account.own.live.length > 0 || account.line.length > 0) return // it has not entered the window yet
  }
  if (open.every(([, { line }]) => line.length === 0)) return
  const dying = sim.processes.filter(
    ({ isDead, atDeath }) => isDead && (atDeath.get(`${work.id}/${number}`)?.until ?? 0) > sim.loop.now,
  )
  let [held, ahead, running, isBusy] = [0, 0, 0, dying.length > 0]
  for (const process of dying) running += process.atDeath.get(`${work.id}/${number}`)?.live ?? 0
  for (const [process, { own, grant, heard }] of open) {
    running += own.live.length + grant.places
    if (grant.isStanding && heard.ahead > 0 && own.live.length + grant.places === 0) running++ // used, and not told
    held += own.at(process.nowUs()).heldUs
    ahead += grant.isStanding ? Math.max(grant.us, heard.ahead) : grant.us // unused, it is left to lapse
    isBusy ||= own.live.length > 0
  }
  const used = work.used(number) + laws.strains.carried(work, number) + laws.allow.heldOfSilentUs(work, number)
  const slack = laws.allow.toleranceUs + laws.allow.roundingUs
  const idle = 2 * TICK_US + 3 * LOOK_US + sim.roundTrip + (sim.mode === 'killed' ? LEASE_US : 0)
  const strain =
    Math.max(laws.strains.most(work, number), ...open.map(([, account]) => account.past.strain / 100)) * 1.02
  for (const [process, account] of open) {
    const first = waitingOf(account).find(({ time }) => !time.isOver)
    if (!first) continue
    const { limitUs } = first
    const free = limitUs - used - held - ahead + account.grant.us - slack
    // What would fit but for time that others have ahead waits for that.
    const isKeptAhead = ahead > account.grant.us && first.priceUs <= limitUs - used - held + slack
    const isLone = !isBusy && !work.isBusySince(sim.loop.now - LOOK_US - 1) && used <= limitUs - slack && !isKeptAhead
    const places = (PLACES * (limitUs - used - slack)) / (limitUs * strain)
    const isFit = first.priceUs <= free && running - account.grant.places + 1 <= places
    if (!isFit && !isLone) {
      fits.delete(first)
      continue
    }
    // A request that ended within the tolerance holds its place in the store until its hold expires. So does one that the
    // second of two throttles refused.
    const lately = sim.loop.now - idle - GRACE_US - TICK_US
    const ended = laws
      .admittedOf(work)
      .reduce((n, { endedAt }) => n + (endedAt > lately && endedAt < Infinity ? 1 : 0), 0)
    const isTight = sim.mode === 'two' || running + ended + 1 > places
    const mostUs = isTight || first.priceUs > free ? idle + GRACE_US + TICK_US : idle
    const { joinedAt } = first
    const known = fits.get(first)
    const { since, mostUs: before } = known?.joinedAt === joinedAt ? known : { since: sim.loop.now, mostUs: 0 }
    if (othersWereServed(sim, laws, work, process)) {
      fits.delete(first)
      continue
    }
    const most = Math.max(before, mostUs)
    fits.set(first, { joinedAt, since, mostUs: most })
    if (sim.loop.now - since > most && sim.loop.now - work.startOf(number) > most) {
      const seen = { since, price: first.priceUs, free, places, running, isLone, used, held, ahead, ended }
      sim.found('nobody waits who fits', { ...seen, limitUs, process: process.id, strain })
    }
  }
}

/** Another process's request was let in since the last look: each is served in turn. */
function othersWereServed(sim: Simulation, laws: Laws, work: Work, process: SimulatedProcess): boolean {
  const since = sim.loop.now - LOOK_US - 1
  const all = laws.admittedOf(work)
  for (let i = all.length - 1; i >= 0; i--) {
    const one = all[i]
    if (!one || one.admittedAt <= since) break
    if (one.process !== process) return true
  }
  // or into the first of two throttles, to be refused by the second
  return sim.mode === 'two' && sim.alive.some((other) => other !== process && other.grantedAt > since)
}
