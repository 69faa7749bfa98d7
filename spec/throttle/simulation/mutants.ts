import type { Mode } from './scenario'

/** One mechanism left out, by a change of the text of a file of this repository. */
export interface Mutant {
  readonly lacks: string
  /** Those in which a law finds that, the likeliest first. */
  readonly modes: readonly Mode[]
  /** A seed of the first mode in which a law finds it. */
  readonly seed: number
  /** The spec that fails without it, where no law finds that in five of 300 seeds: `./budgets` of `spec/throttle`. */
  readonly spec: string | undefined
  readonly file: string
  readonly from: string
  readonly to: string
}

/** `late:12 clocks`: seed 12 of mode `late`, then any seed of the two; or a spec. Without `to` the text is cut out. */
type Row = readonly [lacks: string, foundBy: string, from: string, to?: string]

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  /** Stands for sync.lua, which answers alike: spec/throttle/redis/sync-lua.spec.ts. */
  'spec/throttle/simulation/model.ts': [
    ['the open window only', 'changing:10 carried killed', 'time < startOf(c) || time >= c.ends', 'false'],
    ['the order of reports', 'late:7', 'found >= c.seq', 'false'],
    ['counting anew where not all fits', './budgets', '> room.slots) && o.expires <= time', '> room.slots) && false'],
    ['counting anew for one that fits alone', 'waiting:77 hot killed', 'isFirstOut && c.running', 'false && c.running'],
    ['the expiry of holds', 'waiting:11 killed', 'time + Math.max(c.runsForUs + GRACE_US, LEAST_US) :', 'NEVER - 1 :'],
    ['the grace of holds', 'learned:29 waiting late', 'Math.max(c.runsForUs + GRACE_US, LEAST_US)', 'c.runsForUs'],
    ['the lease of what is ahead', './budgets', 'Math.max(until, time + LEASE_US)', 'NEVER'],
    ['what is ahead outlasts what runs', './budgets', 'Math.max(until, time + LEASE_US)', 'until'],
    ['expired holds counted as used', 'killed:1 clean', 'field.used += field.held'],
    ['holds that expire before what is ahead', './simulation', ' || (field.runs > 0 && field.runs <= time)'],
    ['places that expire', './budgets', 'field.ahead = field.running = 0', 'field.ahead = 0'],
    ['time ahead that expires', './budgets', 'field.ahead = field.running = 0', 'field.running = 0'],
    ['what others hold', 'waiting:2', '- o.held - o.ahead - c.used', '- o.ahead - c.used'],
    ['what others have ahead', 'hot:17 clean', '- o.held - o.ahead - c.used', '- o.held - c.used'],
    ['one request always let in', 'waiting:11 strain', 'c.limit && isAlone)', 'c.limit && false)'],
    ['one let in only where nothing runs', 'waiting:2 learned clean strain', 'c.limit && isAlone)', 'c.limit)'],
    ['nothing of its own beside a lone one', 'waiting:4 learned clean strain', '(c.running === 0 && o.used', '(o.used'],
    ['one let in only within the limit', './budgets', 'o.used + c.used <= c.limit && isAlone', 'isAlone'],
    ['a lone request beside places ahead', './budgets', '= 0 || (o.runs === 0 && (isTooDear || o.ahead === 0))', '= 0'],
    ['a lone request that never fits beside time ahead', './budgets', '(isTooDear || o.ahead === 0)', 'o.ahead === 0'],
    ['time ahead left to its owner', './budgets', '(o.runs === 0 && (isTooDear || o.ahead === 0))', 'o.runs === 0'],
    ['places ahead are no running requests', './budgets', 'running > places ? until : 0', 'until'],
    ['half of what is left at most ahead', './budgets', 'Math.floor((left - c.neededUs) / 2)', 'left - c.neededUs'],
    ['half of the places at most ahead', './simulation', 'Math.floor((slots - c.count) / 2)', 'slots - c.count'],
    ['the rest ahead', './budgets', 'places > 0 ? Math.min(c.neededUs, left) - c.firstNeededUs : 0', '0'],
    ['places', 'hot:129 waiting clean strain', 'slots: places - o.running - c.running', 'slots: 1e6'],
    ['places ahead that count as running', 'hot:5 clean strain', '= c.running + count + places', '= c.running + count'],
    ['the strain of the record', 'strain:5 waiting', 'Math.max(strain, c.strain)', 'c.strain'],
    ['strain that a process had not told', 'strain:4 late', "if (c.past !== 'news' && ends !== 0)", 'if (ends !== 0)'],
    ['the strain of a record that was lost', './budgets', "(c.past !== 'news' && ends !== 0)", "(c.past !== 'news')"],
    ['fields that pass over', './budgets', 'if (field.runs > startOf(c) && startOf(c) >= sums.ends) {', 'if (false) {'],
    ['holds that expired with the window', './budgets', 'used += field.held\n    else', 'used += 0\n    else'],
    ['running requests that pass over', 'clean:1 changing waiting strain', 'next.running += field.running'],
    ['strain that passes over', 'changing:1 strain', 'strain: strainAfter(totals, missed)', 'strain: NO_STRAIN'],
    ['a debt that passes over', 'carried:2', '= c.account.terms.carryOvershoot ? debtAfter(totals, missed) : 0', '= 0'],
    ['what is carried over, once', 'carried:1', 'o.used += carried - hash.sums.carried', 'o.used += carried'],
    ['the debt of the record', 'carried:82', 'Math.max(carried, c.carried)', 'c.carried'],
    ['a record that outlives its window', 'changing:1 carried strain', 'hash.lives = lives', 'hash.lives = c.ends'],
    ['excused waits told to others', 'clients:162', 'o.excused,\n      unseen: o.unseen', '0,\n      unseen: o.unseen'],
  ],
  'lib/throttle/budget/account.ts': [
    ['strain in the places', './request/places', '(of, usedUs, this.past.strain)', '(of, usedUs, NO_STRAIN)'],
    ['one alone has a place', './request/places', 'return live === 0 || live + 1', 'return live + 1'],
    ['a grant that ends with its window', './budgets', '= -Infinity\n    this.grant.drop()', '= -Infinity'],
    ['a grant given up by the next report', './budgets', 'this.grant.drop()\n    const { own,', 'const { own,'],
    ['holds that last as long as waits are to', './budgets', 'Math.max(runsForUs, hold.priceUs)', 'runsForUs'],
    ['strain of time seen late', './budgets', 'this.past.highestLimitUs ||= hold.limitUs'],
    ['what was told, anew in each window', './budgets', 'this.told = NOTHING_TOLD // the store keeps what runs'],
    ['accounts kept while something of them matters', './budgets', 'carryOvershoot, 0)', 'carryOvershoot, 0) * 0'],
    ['client waits of other processes', './budgets', 'capUs - heard.excused - told.excused', 'capUs - told.excused'],
    ['standing while half of the places are free', './budgets', '2 * (own.live + heard.running) + 1', '0'],
    ['holds told for longer while they stand still', './budgets', '=== Infinity ? PARKED_US :', '=== Infinity ? 0 :'],
    [
      'the price of those who wait, anew',
      './budgets',
      'hold.priceUs = priceOf(hold.route, this.histories, hold.limitUs)',
      'void 0',
    ],
    ['old answers ignored', './budgets', 'if (this.sent !== report) return false'],
    ['answers about a window that is over ignored', './budgets', 'if (report.ends !== this.end) return false'],
    ['a clock set back', './budgets', "answer.status === 'unreadable' || isBehind", "answer.status === 'unreadable'"],
    ['a clock that is hardly off', './budgets', 'answer.time < this.start - BEHIND_US', 'answer.time < this.start'],
    ['never an earlier window', './budgets', 'this.start - time > this.terms.windowUs / 2', 'this.start > time'],
    ['an earlier window after a clock set far back', './budgets', ' || this.start - time > this.terms.windowUs / 2'],
    ['strain of what runs across the boundary', './budgets', 'this.past.ranUnder(hold.limitUs)\n      if', 'if'],
    ['answers for those who came before', './budgets', 'hold.askedIn !== 0 && hold.askedIn <= report.seq', 'true'],
  ],
  'lib/throttle/budget/granted-time.ts': [
    ['the use of a grant', 'clean:9 hot', 'this.us = Math.max(0, this.us - priceUs)'],
    ['the use of a place', 'hot:5 clean strain', 'this.places = Math.max(0, this.places - 1)'],
    ['a freed place for the next', './budgets', 'if (this.us > 0) this.places++'],
    ['the age of a grant', './budgets', 'this.until = sentAt + GRANT_US', 'this.until = Infinity'],
    ['the limit of a grant', 'waiting:5 clean two', 'this.limitUs = report.limit', 'this.limitUs = 0'],
    ['time ahead for requests that follow each other', './budgets', 'const hotUs = this.#hotUs()', 'const hotUs = 0'],
    ['standing grants', './budgets', 'hotUs === 0 ? this.#standingUs(limitUs, now, isHalfFree) : hotUs', 'hotUs'],
    ['no standing for who comes now and then', './budgets', 'if (!this.#isRegular || !this.isRecent(now) || ', 'if ('],
    ['standing for small prices only', './budgets', ' || unitUs * STANDING_PART > limitUs) return 0', ') return 0'],
    ['standing while half of the budget is free', './budgets', 'return isHalfFree() ?', 'return true ?'],
    ['a standing of two prices', './budgets', 'const STANDING = 2', 'const STANDING = 1'],
    ['a standing of one place', './budgets', ': Math.sign(us)', ': 32'],
    ['a standing grant only where one was asked for', './budgets', 'hotUs === 0 && us > 0', 'hotUs === 0'],
    ['a standing left to lapse', './budgets', 'this.isStanding = hotUs === 0 && us > 0', 'this.isStanding = false'],
  ],
  'lib/throttle/budget/past.ts': [
    ['what was not told at a window’s end', 'strain:4 carried late', '(this.#hasNews || isUntold)', 'false'],
    ['strain and debt taken back by a reset', './budgets', 'this.#isCleared = true'],
    ['strain heard', 'changing:1 strain', 'this.strain = figures.strain'],
    ['debt heard', 'carried:10', 'this.carriedUs = figures.carried'],
  ],
  'lib/throttle/budget/line.ts': [
    ['lines asked about soon', 'waiting:5', 'const ASK_US = 100_000', 'const ASK_US = 900_000'],
  ],
  'lib/throttle/store/due.ts': [
    ['the truth told at ticks', 'clean:4 late', "if (Math.abs(untold) > toleranceOf(account)) return 'tick'"],
    ['what is ahead given back at ticks', './budgets', '(grant.us > 0 || heard.ahead > 0)', 'false'],
    ['no report of a standing', './budgets', ' && !grant.isStanding'],
    ['a hold that is over told', './budgets', 'toldUntil > now + TICK_US', 'false'],
    ['unseen time told', './budgets', 'own.unseenUs !== told.unseen || isHalfExcused', 'isHalfExcused'],
    ['ends told beside a long hold', './budgets', '(own.live === 0 || hasEnded)', 'own.live === 0'],
    ['no report of what a grant covers', './budgets', 'Math.max(toldUntil, grant.until)', 'toldUntil'],
    ['holds renewed', 'two:2 clients learned', "return endsLater ? 'tick' : undefined", 'return undefined'],
    ['parked holds told although a grant covers them', './budgets', ' && lastEnd < Infinity'],
    ['ends told at once with few places left', './budgets', ' || areFew(account, now)'],
    ['ends told at once where others wait in the process', './budgets', 'account.line.length > 0 || areFew', 'areFew'],
    ['tolerance divided by the living', 'clean:4 late waiting', '(TOLERANCE * server.living)', 'TOLERANCE'],
    ['what is not known told again', 'outage:23 late', ".isTold) return 'tick'", '.isTold) return undefined'],
  ],
  'lib/throttle/store/link.ts': [
    ['last figures told to a server that is down', './budgets', 'isDown && !isLast) return', 'isDown) return'],
    ['accounts told again after a loss', 'evicted:2 lost rolledBack', 'if (hasLost) account.tellAgain()'],
    ['those who hold a grant told again after a loss', 'evicted:2 lost rolledBack', ' && now >= account.grant.until'],
    ['a new look where more live', 'rolledBack:14 late clean', '()\n      this', '()\n      if (hasLost) this'],
    ['reports at ticks', 'clean:4', 'this.ask(account, TOGETHER)'],
    ['ends reported at once', './budgets', "if (dueAt(account, now) === 'now') this.ask(account)"],
    ['new waiters asked about', './budgets', 'if (isNew || dueAt', 'if (dueAt'],
    ['a command that is not answered is over', 'late:2', 'this.#over(command)\n    const lost', 'const lost'],
    ['what was not answered given up', 'outage:1 late', 'for (const account of lost) account.giveUp()'],
    ['deciding alone where no answer comes', './budgets', 'serveLine(account, now, account.', 'void (account.'],
    ['what a lost token means', 'evicted:2 lost rolledBack', 'hasLost || areMore', 'areMore'],
    ['heartbeats during an outage', 'outage:7 cutOff', '=> (this.isDown ? BEAT_OPEN_MS', '=> (this.isDown ? 60_000'],
  ],
  'lib/throttle/store/shared-store.ts': [
    ['a deadline for answers', 'outage:4 cutOff', 'DEADLINE_MS = 70', 'DEADLINE_MS = 70_000'],
  ],
  'lib/throttle/store/circuit-breaker.ts': [['the server declared down', './budgets', "this.state = 'open'\n"]],
  'lib/http/deadline.ts': [
    ['answers read after a stall', './budgets', 'clock.now() - dueAt > LATE_MS && graces > 0', 'false'],
  ],
  'lib/throttle/budget/window-clock.ts': [
    ['whole microseconds', 'clean:2', 'Math.round(time - (sentAt + now) / 2)', 'time - (sentAt + now) / 2'],
    ['drift while a reply is under way', './budget/window-clock', '(1 / 2 + this.#drift)', '(1 / 2)'],
    ['a clock that was set', './budget/window-clock', ' && !jumped'],
  ],
  'lib/throttle/budget/rollover.ts': [
    ['strain', 'strain:1 waiting', 'strain * STRAIN_KEPT, limitUs > 0 ? (100 * workUs) / limitUs : 0', 'NO_STRAIN, 0'],
    ['strain that falls', 'strain:1 waiting', 'Math.max(strain * STRAIN_KEPT, limitUs', 'Math.max(strain, limitUs'],
    ['strain that falls over windows without requests', 'strain:4 carried', '* STRAIN_KEPT ** missed'],
    ['unseen time in strain', './request/places', 'usedUs + unseenUs - carriedUs', 'usedUs - carriedUs'],
    ['carried time left out of strain', 'carried:1', 'usedUs + unseenUs - carriedUs', 'usedUs + unseenUs'],
    ['what is carried over', 'carried:3', 'Math.max(0, usedUs + unseenUs - limitUs * (missed + 1))', '0'],
    ['each missed window pays for a limit', 'carried:32', 'limitUs * (missed + 1)', 'limitUs'],
    ['strain kept with the record', 'changing:1 strain carried', 'if (strain > STRAIN_FORGOTTEN)', 'if (false)'],
    ['a debt kept with the record', './budgets', 'if (carryOvershoot && limitUs > 0)', 'if (false)'],
    ['running requests kept with the record', './budgets', 'Math.ceil((runsUntil - ends) / windowUs)', '0'],
  ],
  'lib/throttle/budget/subjects.ts': [['accounts kept while they report', './budgets', ' || this.#isNeeded(account)']],
  'lib/throttle/budget/decide.ts': [
    ['refusals from memory asked about', './budgets', 'const UNHEARD_US = 2_000_000', 'const UNHEARD_US = Infinity'],
    ['places in the process', './budgets', ' && (own.live === 0 || account.hasPlace(hold, usedUs))'],
    ['refusals only in a window open for certain', 'clean:17 waiting', 'isHeard && account.isOpen(now)', 'isHeard'],
    ['letting go of clients that have gone', 'waiting:5', "if (hold.time.isOver) return 'gone'"],
    ['patience', 'waiting:2', 'if (now >= hold.waitsUntil) return', 'if (false) return'],
    ['the order of a line', 'waiting:2', 'hold === account.line.first && fits(account', 'fits(account'],
    ['a line joined', 'waiting:10', 'if (line.length > 0) {', 'if (false) {'],
    ['nobody refused before the store has considered it', './budgets', '!hold.isConsidered && !isAlone', 'false'],
    ['one from a grant where nothing runs', 'carried:9 hot strain', '(own.live === 0 || account', '(account'],
    ['the limit of a grant in decisions', 'waiting:5 clean two', 'limitUs >= grant.limitUs && '],
    ['a lease that ends', './budgets', ' && now < grant.until'],
    ['places granted', 'hot:5 clean strain', ' && grant.places > 0'],
    ['a wait for the first answer', './budgets', 'server.isDown && server.isStarting', 'false'],
    ['shares in an outage', 'outage:12', 'leftThen > 0 ? leftThen / server.living', 'leftThen > 0 ? leftThen'],
    ['what others held in an outage', 'outage:1', '.used - heard.held - ownWhenHeard', '.used - ownWhenHeard'],
    ['shares of the places in an outage', './budgets', 'own.live * server.living', 'own.live'],
    ['one request in a long outage', './budgets', 'now - server.downSince > LONG_OUTAGE_US', 'false'],
    ['none beyond a share that is used up', './budgets', 'leftUs > 0 && own.live === 0', 'own.live === 0'],
    ['no wait for a share that is used up', './budgets', "return 'outage'\n  return now <", '0\n  return now <'],
  ],
  'lib/throttle/budget/serve-line.ts': [
    ['those who were decided alone', './budgets', "if (end === 'wait' && isAlone) hold.isConsidered = true"],
  ],
  'lib/throttle/budget/own-usage.ts': [
    ['estimates that rise', 'learned:1 waiting late', 'if (takenUs >= hold.expectedUs) {', 'if (false) {'],
    ['prices in the store', './budget/hold', 'Math.max(0, hold.priceUs - hold.takenUs(now))', 'restUs(hold, now)'],
    ['parked requests without end', './budgets', ' : Infinity', ' : now + restUs(hold, now)'],
    ['the cap of client waits', 'clients:1', 'if (beyondUs <= 0) continue', 'continue'],
    ['what runs across the boundary', 'clean:2', '(Math.max(hold.time.since, boundary))', '(hold.time.since)'],
  ],
  'lib/throttle/budget/price.ts': [
    ['a price of the subject’s own', './budget/price', 'if (own?.known === OWN_SAMPLES)', 'if (false)'],
    ['a price of the route while little is known of the subject', './budget/price', '?? 0, all, cold)', '?? 0, cold)'],
    ['a price that falls as more is known', './budget/price', 'coldUs / 2 ** (route.subjects + known)', 'coldUs'],
    ['outliers left out', './budget/price', 'this.isKnown ? Math.ceil(known / OUTLIERS) : 0', '0'],
    ['one figure for each subject', './budget/price', '(place < 0 || this.#subjects[place] !== subject) {', '(true) {'],
    ['the eight before', './budget/price', 'Math.max(this.#mostUs, this.#earlierMostUs ?? 0)', 'this.#mostUs'],
    ['a margin', './budget/price', 'us * (1 + 1 / samples)', 'us'],
    ['a few routes of each subject', './budget/price', 'if (history) history.older = undefined'],
  ],
  'lib/throttle/budgets.ts': [
    ['the last reports', 'closed:4', 'const CLOSING_MS = 3_000', 'const CLOSING_MS = 0'],
    ['a line served as a request ends', './budgets', '.takenUs(now))\n    serveLine(account, now)', '.takenUs(now))'],
    ['lines asked about again', 'waiting:5', 'now >= account.line.askAt', 'false'],
    ['lines looked at', 'waiting:2', 'this.#lines.add(account)'],
  ],
}

export const MUTANTS: readonly Mutant[] = Object.entries(ROWS).flatMap(([file, rows]) =>
  rows.map(([lacks, foundBy, from, to = '']) => {
    const spec = foundBy.includes('/') ? foundBy : undefined
    const modes = spec ? [] : (foundBy.replace(/:\d+/, '').split(' ') as Mode[])
    return { lacks, modes, seed: Number(/:(\d+)/.exec(foundBy)?.[1] ?? 1), spec, file, from, to }
  }),
)
