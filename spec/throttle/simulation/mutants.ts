import type { Mode } from './scenario'

/** One mechanism left out, by a change of the text of a file of this repository, and the modes in which a law finds that. */
export interface Mutant {
  readonly lacks: string
  /** The likeliest first. */
  readonly modes: readonly Mode[]
  /** A seed of the first mode in which a law finds it. */
  readonly seed: number
  readonly file: string
  readonly from: string
  readonly to: string
}

const ACCOUNT = 'lib/throttle/budget/account.ts'
const DECIDE = 'lib/throttle/budget/decide.ts'
const OWN_USAGE = 'lib/throttle/budget/own-usage.ts'
const PRICE = 'lib/throttle/budget/price.ts'
const ROLLOVER = 'lib/throttle/budget/rollover.ts'
const SUBJECTS = 'lib/throttle/budget/subjects.ts'
const CLOCK = 'lib/throttle/budget/window-clock.ts'
const GRANT = 'lib/throttle/budget/granted-time.ts'
const PAST = 'lib/throttle/budget/past.ts'
const LINE = 'lib/throttle/budget/serve-line.ts'
const QUEUE = 'lib/throttle/budget/line.ts'
const BUDGETS = 'lib/throttle/budgets.ts'
const DUE = 'lib/throttle/store/due.ts'
const LINK = 'lib/throttle/store/link.ts'
const DEADLINE = 'lib/http/deadline.ts'
const BREAKER = 'lib/throttle/store/circuit-breaker.ts'
const SHARED_STORE = 'lib/throttle/store/shared-store.ts'
/** Stands for sync.lua, which answers alike: spec/throttle/redis/sync-lua.spec.ts. */
const MODEL = 'spec/throttle/simulation/model.ts'

/** `late:12 clocks`: seed 12 of mode `late`, then any seed of the two. */
type Row = readonly [lacks: string, modes: string, from: string, to: string]

const OF_THE_STORE: readonly Row[] = [
  ['the open window only', 'changing:10 carried killed', 'time < startOf(c) || time >= c.ends', 'false'],
  ['the order of reports', 'late:7', 'found >= c.seq', 'false'],
  [
    'counting anew where not all fits',
    'killed waiting',
    'c.count > room.slots) && o.expires <= time',
    'c.count > room.slots) && false',
  ],
  [
    'counting anew for one that fits alone',
    'waiting:77 hot killed',
    'if (isFirstOut && c.running === 0',
    'if (false && c.running === 0',
  ],
  [
    'the expiry of holds',
    'waiting:11 killed',
    '? time + Math.max(c.runsForUs + GRACE_US, LEAST_US) : NEVER',
    '? NEVER - 1 : NEVER',
  ],
  ['the grace of holds', 'learned:29 waiting late', 'Math.max(c.runsForUs + GRACE_US, LEAST_US)', 'c.runsForUs'],
  ['the lease of what is ahead', 'killed hot', 'Math.max(until, time + LEASE_US)', 'NEVER'],
  ['what is ahead outlasts what runs', 'clean hot strain', 'Math.max(until, time + LEASE_US)', 'until'],
  ['expired holds counted as used', 'killed:1 clean', 'field.used += field.held', ''],
  [
    'holds that expire before what is ahead',
    'killed hot waiting',
    'isOver || (field.runs > 0 && field.runs <= time)',
    'isOver',
  ],
  ['places that expire', 'killed waiting', 'field.ahead = field.running = 0', 'field.ahead = 0'],
  ['time ahead that expires', 'killed hot', 'field.ahead = field.running = 0', 'field.running = 0'],
  ['what others hold', 'waiting:2', '- o.held - o.ahead - c.used', '- o.ahead - c.used'],
  ['what others have ahead', 'hot:17 clean', '- o.held - o.ahead - c.used', '- o.held - c.used'],
  ['one request always let in', 'waiting:11 strain', 'c.limit && isAlone)', 'c.limit && false)'],
  ['one let in only where nothing runs', 'waiting:2 learned clean strain', 'c.limit && isAlone)', 'c.limit)'],
  [
    'one let in only where nothing runs in its process',
    'waiting:4 learned clean strain',
    'if (c.running === 0 && o.used',
    'if (o.used',
  ],
  ['one let in only within the limit', 'waiting clean strain late', 'o.used + c.used <= c.limit && isAlone', 'isAlone'],
  [
    'a lone request beside places ahead',
    'hot waiting',
    'o.running === 0 || (o.runs === 0 && (isTooDear || o.ahead === 0))',
    'o.running === 0',
  ],
  ['a lone request that never fits beside time ahead', 'hot waiting', '(isTooDear || o.ahead === 0)', 'o.ahead === 0'],
  [
    'time ahead left to its owner',
    'hot clean waiting',
    '(o.runs === 0 && (isTooDear || o.ahead === 0))',
    'o.runs === 0',
  ],
  ['places ahead are no running requests', 'hot waiting', 'running > places ? until : 0', 'until'],
  ['half of what is left at most ahead', 'hot clean', 'Math.floor((left - c.neededUs) / 2)', 'left - c.neededUs'],
  ['half of the places at most ahead', 'hot clean strain', 'Math.floor((slots - c.count) / 2)', 'slots - c.count'],
  ['the rest ahead', 'clean waiting strain', 'places > 0 ? Math.min(c.neededUs, left) - c.firstNeededUs : 0', '0'],
  ['places', 'hot:129 waiting clean strain', 'slots: places - o.running - c.running', 'slots: 1e6'],
  [
    'places ahead that count as running',
    'hot:5 clean strain',
    'const running = c.running + count + places',
    'const running = c.running + count',
  ],
  ['the strain of the record', 'strain:5 waiting', 'Math.max(strain, c.strain)', 'c.strain'],
  ['strain that a process had not told', 'strain:4 late', "if (c.past !== 'news' && ends !== 0)", 'if (ends !== 0)'],
  [
    'the strain of a record that was lost',
    'lost evicted',
    "if (c.past !== 'news' && ends !== 0)",
    "if (c.past !== 'news')",
  ],
  [
    'fields that pass over',
    'clean',
    'else if (field.runs > startOf(c) && startOf(c) >= sums.ends) {',
    'else if (false) {',
  ],
  ['holds that expired with the window', 'carried', 'used += field.held\n    else', 'used += 0\n    else'],
  ['running requests that pass over', 'clean:1 changing waiting strain', 'next.running += field.running', ''],
  ['strain that passes over', 'changing:1 strain', 'strain: strainAfter(totals, missed)', 'strain: NO_STRAIN'],
  [
    'a debt that passes over',
    'carried:2',
    'const carried = c.account.terms.carryOvershoot ? debtAfter(totals, missed) : 0',
    'const carried = 0',
  ],
  ['what is carried over, once', 'carried:1', 'o.used += carried - hash.sums.carried', 'o.used += carried'],
  ['the debt of the record', 'carried:82', 'Math.max(carried, c.carried)', 'c.carried'],
  [
    'a record that outlives its window',
    'changing:1 carried strain',
    'if (isNew || lives > c.ends) hash.lives = lives',
    'hash.lives = c.ends',
  ],
  [
    'excused waits told to others',
    'clients:162',
    'excused: o.excused,\n      unseen: o.unseen,\n      ...{ strain',
    'excused: 0,\n      unseen: o.unseen,\n      ...{ strain',
  ],
]

const OF_ACCOUNTS: readonly Row[] = [
  ['strain in the places', 'strain', 'placesOf(of, usedUs, this.past.strain)', 'placesOf(of, usedUs, NO_STRAIN)'],
  ['one alone has a place', 'waiting clean strain outage', 'return live === 0 || live + 1', 'return live + 1'],
  [
    'a grant that ends with its window',
    'hot',
    'this.heardAt = -Infinity\n    this.grant.drop()',
    'this.heardAt = -Infinity',
  ],
  [
    'a grant given up by the next report',
    'hot',
    'this.enter(now)\n    this.grant.drop()\n    const { own, line',
    'this.enter(now)\n    const { own, line',
  ],
  [
    'holds that last as long as those who wait are expected to',
    'waiting',
    'runsForUs = Math.max(runsForUs, hold.neededUs)',
    '',
  ],
  ['strain of time seen late', 'waiting', 'this.past.highestLimitUs ||= hold.limitUs', ''],
  ['what was told, anew in each window', 'clean', 'this.told = NOTHING_TOLD // the store keeps what runs', ''],
  [
    'accounts kept while something of them matters',
    'carried',
    ' + keptAfter(this.totals(now), this.end, windowUs, carryOvershoot, 0)',
    '',
  ],
  ['client waits of other processes', 'clients', 'capUs - heard.excused - told.excused', 'capUs - told.excused'],
  [
    'standing while half of the places are free',
    'hot strain waiting clean',
    'return isHalfFree && this.hasPlace(this, usedUs, 2 * (own.live + heard.running) + 1)',
    'return isHalfFree',
  ],
  [
    'holds told for longer while they stand still',
    'two clients',
    'latest === Infinity ? PARKED_US :',
    'latest === Infinity ? 0 :',
  ],
  [
    'the price of those who wait, anew',
    'learned',
    'hold.priceUs = priceOf(hold.route, this.histories, hold.limitUs)',
    '',
  ],
  ['old answers ignored', 'late', 'if (this.sent !== report) return false', ''],
  ['answers about a window that is over ignored', 'late', 'if (report.ends !== this.end) return false', ''],
  ['a clock set back', 'clocks', "answer.status === 'unreadable' || isBehind", "answer.status === 'unreadable'"],
  ['a clock that is hardly off', 'clocks', 'answer.time < this.start - BEHIND_US', 'answer.time < this.start'],
  [
    'never an earlier window',
    'clean waiting clocks',
    'this.start - time > this.terms.windowUs / 2',
    'this.start > time',
  ],
  [
    'an earlier window where the clock was set far back',
    'clocks',
    ' || this.start - time > this.terms.windowUs / 2',
    '',
  ],
  ['strain of what runs across the boundary', 'strain:56 clean', 'this.past.ranUnder(hold.limitUs)\n      if', 'if'],
  [
    'who came after a report is not considered by its answer',
    'waiting',
    'hold.isConsidered ||= hold.askedIn !== 0 && hold.askedIn <= report.seq',
    'hold.isConsidered = true',
  ],
]

const OF_GRANTS: readonly Row[] = [
  ['the use of a grant', 'clean:9 hot', 'this.us = Math.max(0, this.us - hold.neededUs)', ''],
  ['the use of a place', 'hot:5 clean strain', 'this.places = Math.max(0, this.places - 1)', ''],
  ['a freed place for the next', 'hot waiting', 'if (this.us > 0) this.places++', ''],
  ['the age of a grant', 'late stalls hot', 'this.until = sentAt + GRANT_US', 'this.until = Infinity'],
  ['the limit of a grant', 'waiting:5 clean two', 'this.limitUs = report.limit', 'this.limitUs = 0'],
  ['time ahead for requests that follow each other', 'hot', 'const hotUs = this.#hotUs()', 'const hotUs = 0'],
  ['standing grants', 'hot', 'hotUs === 0 ? this.#standingUs(limitUs, now, isHalfFree) : hotUs', 'hotUs'],
  ['no standing for who comes now and then', 'hot', 'if (!this.#isRegular || !this.isRecent(now) || ', 'if ('],
  ['standing for small prices only', 'clean waiting', ' || unitUs * STANDING_PART > limitUs) return 0', ') return 0'],
  ['standing while half of the budget is free', 'hot waiting clean', 'return isHalfFree() ?', 'return true ?'],
  ['a standing of two prices', 'hot', 'const STANDING = 2', 'const STANDING = 1'],
  ['a standing of one place', 'hot clean', ': Math.sign(us)', ': 32'],
  ['a standing grant only where one was asked for', 'two:889', 'hotUs === 0 && us > 0', 'hotUs === 0'],
  ['a standing left to lapse', 'hot', 'this.isStanding = hotUs === 0 && us > 0', 'this.isStanding = false'],
]

const OF_THE_PAST: readonly Row[] = [
  ['what was not told at a window’s end', 'strain:4 carried late', '(this.#hasNews || isUntold)', 'false'],
  ['strain and debt taken back by a reset', 'strain', 'this.#isCleared = true', ''],
  ['strain heard', 'changing:1 strain', 'this.strain = figures.strain', ''],
  ['debt heard', 'carried:10', 'this.carriedUs = figures.carried', ''],
]

const OF_QUEUES: readonly Row[] = [
  ['lines asked about soon', 'waiting:5', 'const ASK_US = 100_000', 'const ASK_US = 900_000'],
]

const OF_REPORTS: readonly Row[] = [
  ['the truth told at ticks', 'clean:4 late', "if (Math.abs(untold) > toleranceOf(account)) return 'tick'", ''],
  [
    'what is ahead given back at ticks',
    'clean waiting hot',
    "if ((grant.us > 0 || heard.ahead > 0) && !grant.isStanding) return 'tick'",
    '',
  ],
  ['no report of a standing', 'hot', ' && !grant.isStanding', ''],
  [
    'a hold that is over told',
    'waiting learned',
    "if ((own.live === 0 || hasEnded) && toldUntil > now + TICK_US) return 'tick'",
    '',
  ],
  ['unseen time told', 'learned', 'own.unseenUs !== told.unseen || isHalfExcused', 'isHalfExcused'],
  ['ends told beside a long hold', 'two', '(own.live === 0 || hasEnded)', 'own.live === 0'],
  [
    'no report of what a grant covers',
    'hot',
    'startedAhead ? Math.max(toldUntil, grant.until) : toldUntil',
    'toldUntil',
  ],
  ['holds renewed', 'two:2 clients learned', "return endsLater ? 'tick' : undefined", 'return undefined'],
  ['parked holds told although a grant covers them', 'clients:10 two', ' && lastEnd < Infinity', ''],
  [
    'ends told at once with few places left',
    'hot:5 waiting strain',
    '(account.line.length > 0 || areFew(account, now))',
    'account.line.length > 0',
  ],
  [
    'ends told at once where others wait in the process',
    'hot waiting strain',
    '(account.line.length > 0 || areFew(account, now))',
    'areFew(account, now)',
  ],
  ['tolerance divided by the living', 'clean:4 late waiting', '(TOLERANCE * server.living)', 'TOLERANCE'],
  [
    'what is not known told again',
    'outage:23 late',
    "if (!account.isTold) return 'tick'",
    'if (!account.isTold) return undefined',
  ],
]

const OF_THE_LINK: readonly Row[] = [
  [
    'last figures told to a server that is down',
    'closed',
    'if (this.isDown && !isLast) return\n    this.#queue',
    'if (this.isDown) return\n    this.#queue',
  ],
  ['accounts told again after a loss', 'evicted:2 lost rolledBack', 'if (hasLost) account.tellAgain()', ''],
  ['those who hold a grant told again after a loss', 'evicted:2 lost rolledBack', ' && now >= account.grant.until', ''],
  [
    'a new look where more live',
    'rolledBack:14 late clean',
    'if (hasLost) account.tellAgain()\n      this',
    'if (hasLost) account.tellAgain()\n      if (hasLost) this',
  ],
  ['reports at ticks', 'clean:4', 'this.ask(account, TOGETHER)', ''],
  ['ends reported at once', 'waiting clean strain', "if (dueAt(account, now) === 'now') this.ask(account)", ''],
  ['new waiters asked about', 'waiting clean', 'if (isNew || dueAt', 'if (dueAt'],
  ['a command that is not answered is over', 'late:2', 'this.#over(command)\n    const lost', 'const lost'],
  ['what was not answered given up', 'outage:1 late', 'for (const account of lost) account.giveUp()', ''],
  [
    'deciding alone where no answer comes',
    'outage',
    "serveLine(account, now, account.server.isDown ? 'down' : 'unanswered')",
    '',
  ],
  [
    'what a lost token means',
    'evicted:2 lost rolledBack',
    'if (hasLost || areMore) this.#tellAgain(hasLost, now)',
    'if (areMore) this.#tellAgain(false, now)',
  ],
  [
    'heartbeats during an outage',
    'outage:7 cutOff',
    'pauseMs: () => (this.isDown ? BEAT_OPEN_MS',
    'pauseMs: () => (this.isDown ? 60_000',
  ],
]

const OF_ROLLOVER: readonly Row[] = [
  ['strain', 'strain:1 waiting', 'strain * STRAIN_KEPT, limitUs > 0 ? (100 * workUs) / limitUs : 0', 'NO_STRAIN, 0'],
  ['strain that falls', 'strain:1 waiting', 'Math.max(strain * STRAIN_KEPT, limitUs', 'Math.max(strain, limitUs'],
  ['strain that falls over windows without requests', 'strain:4 carried', '* STRAIN_KEPT ** missed', ''],
  ['unseen time in strain', 'learned:1', 'usedUs + unseenUs - carriedUs', 'usedUs - carriedUs'],
  ['carried time left out of strain', 'carried:1', 'usedUs + unseenUs - carriedUs', 'usedUs + unseenUs'],
  ['what is carried over', 'carried:3', 'Math.max(0, usedUs + unseenUs - limitUs * (missed + 1))', '0'],
  ['each missed window pays for a limit', 'carried:32', 'limitUs * (missed + 1)', 'limitUs'],
  ['strain kept with the record', 'changing:1 strain carried', 'if (strain > STRAIN_FORGOTTEN)', 'if (false)'],
  ['a debt kept with the record', 'carried', 'if (carryOvershoot && limitUs > 0)', 'if (false)'],
  ['running requests kept with the record', 'changing', 'Math.ceil((runsUntil - ends) / windowUs)', '0'],
]

const OF_SUBJECTS: readonly Row[] = [['accounts kept while they report', 'late', ' || this.#isNeeded(account)', '']]

const OF_DECISIONS: readonly Row[] = [
  ['refusals from memory asked about', 'lost', 'const UNHEARD_US = 2_000_000', 'const UNHEARD_US = Infinity'],
  ['places in the process', 'hot', 'isServed && (own.live === 0 || account.hasPlace(hold, usedUs))', 'isServed'],
  [
    'refusals only in a window that is open for certain',
    'clean:17 waiting',
    "isHeard && account.isOpen(now)) return 'spent'",
    "isHeard) return 'spent'",
  ],
  ['letting go of clients that have gone', 'waiting:5', "if (hold.time.isOver) return 'gone'", ''],
  ['patience', 'waiting:2', 'if (now >= hold.waitsUntil) return', 'if (false) return'],
  ['the order of a line', 'waiting:2', 'hold === account.line.first && fits(account', 'fits(account'],
  ['a line joined', 'waiting:10', 'if (line.length > 0 && !hold.hasBegun) {', 'if (false) {'],
  [
    'nobody refused before the store has considered it',
    'waiting',
    "if (!hold.isConsidered && !isAlone) return 'wait'",
    '',
  ],
  [
    'one from a grant where nothing runs',
    'carried:9 hot strain',
    '(own.live === 0 || account.hasPlace(hold, usedUs))',
    'account.hasPlace(hold, usedUs)',
  ],
  ['the limit of a grant in decisions', 'waiting:5 clean two', 'limitUs >= grant.limitUs && ', ''],
  ['a lease that ends', 'stalls late', ' && now < grant.until', ''],
  ['places granted', 'hot:5 clean strain', ' && grant.places > 0', ''],
  ['a wait for the first answer', 'killed:9001547 closed', 'server.isDown && server.isStarting', 'false'],
  ['shares in an outage', 'outage:12', 'leftThen > 0 ? leftThen / server.living', 'leftThen > 0 ? leftThen'],
  [
    'what others held in an outage',
    'outage:1',
    'limitUs - heard.used - heard.held - ownWhenHeard',
    'limitUs - heard.used - ownWhenHeard',
  ],
  ['shares of the places in an outage', 'outage', 'own.live * server.living', 'own.live'],
  ['one request in a long outage', 'outage', 'now - server.downSince > LONG_OUTAGE_US', 'false'],
  ['none beyond a share that is used up', 'outage', 'return leftUs > 0 && own.live === 0', 'return own.live === 0'],
  [
    'no wait for a share that is used up',
    'outage',
    "if (server.isDown && isShareUsedUp(account, limitUs, now)) return 'outage'\n  return now <",
    'return now <',
  ],
]

const OF_LINES: readonly Row[] = [
  ['those who were decided alone', 'outage', "if (end === 'wait' && isAlone) hold.isConsidered = true", ''],
]

const OF_OWN_USAGE: readonly Row[] = [
  ['estimates that rise', 'learned:1 waiting late', 'if (takenUs >= hold.expectedUs) {', 'if (false) {'],
  [
    'only prices held in the store',
    'stalls cutOff killed learned',
    'us += Math.max(0, hold.priceUs - hold.takenUs(now))',
    'us += restUs(hold, now)',
  ],
  [
    'parked requests without an end',
    'two:2 clients',
    'hold.isRunning ? now + restUs(hold, now) : Infinity',
    'now + restUs(hold, now)',
  ],
  ['the cap of client waits', 'clients:1', 'if (beyondUs <= 0) continue', 'continue'],
  [
    'what runs across the boundary',
    'clean:2',
    'isCountedFrom(Math.max(hold.time.since, boundary))',
    'isCountedFrom(hold.time.since)',
  ],
]

/** Prices are judged by their own specs. */
const OF_PRICES: readonly Row[] = [
  ['a price of the subject’s own', 'learned', 'if (own?.known === OWN_SAMPLES)', 'if (false)'],
  [
    'a price of the route while little is known of the subject',
    'learned',
    'Math.max(own?.us ?? 0, all, cold)',
    'Math.max(own?.us ?? 0, cold)',
  ],
  ['a price that falls as more is known', 'learned', 'coldUs / 2 ** (route.subjects + known)', 'coldUs'],
  ['outliers left out', 'learned', 'this.isKnown ? Math.ceil(known / OUTLIERS) : 0', '0'],
  ['one figure for each subject', 'learned', 'if (place < 0 || this.#subjects[place] !== subject) {', 'if (true) {'],
  ['the eight before', 'learned', 'Math.max(this.#mostUs, this.#earlierMostUs ?? 0)', 'this.#mostUs'],
  ['a margin', 'learned', 'us * (1 + 1 / samples)', 'us'],
  ['a few routes of each subject', 'learned', 'if (history) history.older = undefined', ''],
]

const OF_BUDGETS: readonly Row[] = [
  ['the last reports', 'closed:4', 'const CLOSING_MS = 3_000', 'const CLOSING_MS = 0'],
  [
    'a line served as a request ends',
    'waiting',
    'hold.takenUs(now))\n    serveLine(account, now)',
    'hold.takenUs(now))',
  ],
  [
    'lines asked about again',
    'waiting:5',
    'if (account.line.length > 0 && now >= account.line.askAt) linkOf(account)?.ask(account)',
    '',
  ],
  ['lines looked at', 'waiting:2', 'this.#lines.add(account)', ''],
]

export const MUTANTS: readonly Mutant[] = [
  ...of(MODEL, OF_THE_STORE),
  ...of(ACCOUNT, OF_ACCOUNTS),
  ...of(GRANT, OF_GRANTS),
  ...of(PAST, OF_THE_PAST),
  ...of(QUEUE, OF_QUEUES),
  ...of(DUE, OF_REPORTS),
  ...of(LINK, OF_THE_LINK),
  ...of(SHARED_STORE, [['a deadline for answers', 'outage:4 cutOff', 'DEADLINE_MS = 70', 'DEADLINE_MS = 70_000']]),
  ...of(BREAKER, [['the server declared down', 'outage cutOff', "this.state = 'open'\n", '']]),
  ...of(DEADLINE, [['answers read after a stall', 'stalls', 'clock.now() - dueAt > LATE_MS && graces > 0', 'false']]),
  ...of(CLOCK, [
    ['whole microseconds', 'clean:2', 'Math.round(time - (sentAt + now) / 2)', 'time - (sentAt + now) / 2'],
    ['drift while a reply is under way', 'late', '(1 / 2 + this.#drift)', '(1 / 2)'],
    ['a clock that was set', 'clocks', ' && !jumped', ''],
  ]),
  ...of(ROLLOVER, OF_ROLLOVER),
  ...of(SUBJECTS, OF_SUBJECTS),
  ...of(DECIDE, OF_DECISIONS),
  ...of(LINE, OF_LINES),
  ...of(OWN_USAGE, OF_OWN_USAGE),
  ...of(PRICE, OF_PRICES),
  ...of(BUDGETS, OF_BUDGETS),
]

/** Found, but only after many seeds: run where SIMULATION_SEEDS asks for more than usual. */
export const SLOW: ReadonlySet<string> = new Set([])

/** What no law finds in five of 300 seeds, and the spec that fails without it. */
export const PROVED_BY: ReadonlyMap<string, string> = new Map([
  ['counting anew where not all fits', 'throttle/budgets'],
  ['the lease of what is ahead', 'throttle/budgets'],
  ['what is ahead outlasts what runs', 'throttle/budgets'],
  ['holds that expire before what is ahead', 'throttle/simulation'],
  ['places that expire', 'throttle/budgets'],
  ['time ahead that expires', 'throttle/budgets'],
  ['one let in only within the limit', 'throttle/budgets'],
  ['a lone request beside places ahead', 'throttle/budgets'],
  ['a lone request that never fits beside time ahead', 'throttle/budgets'],
  ['time ahead left to its owner', 'throttle/budgets'],
  ['places ahead are no running requests', 'throttle/budgets'],
  ['half of what is left at most ahead', 'throttle/budgets'],
  ['half of the places at most ahead', 'throttle/simulation'],
  ['the rest ahead', 'throttle/budgets'],
  ['the strain of a record that was lost', 'throttle/budgets'],
  ['strain in the places', 'throttle/request/places'],
  ['one alone has a place', 'throttle/request/places'],
  ['a freed place for the next', 'throttle/budgets'],
  ['the age of a grant', 'throttle/budgets'],
  ['time ahead for requests that follow each other', 'throttle/budgets'],
  ['standing grants', 'throttle/budgets'],
  ['no standing for who comes now and then', 'throttle/budgets'],
  ['standing for small prices only', 'throttle/budgets'],
  ['standing while half of the budget is free', 'throttle/budgets'],
  ['standing while half of the places are free', 'throttle/budgets'],
  ['a standing of two prices', 'throttle/budgets'],
  ['a standing of one place', 'throttle/budgets'],
  ['a standing left to lapse', 'throttle/budgets'],
  ['holds told for longer while they stand still', 'throttle/budgets'],
  ['parked holds told although a grant covers them', 'throttle/budgets'],
  ['parked requests without an end', 'throttle/budgets'],
  ['unseen time in strain', 'throttle/request/places'],
  ['the price of those who wait, anew', 'throttle/budgets'],
  ['old answers ignored', 'throttle/budgets'],
  ['a clock set back', 'throttle/budgets'],
  ['a clock that is hardly off', 'throttle/budgets'],
  ['never an earlier window', 'throttle/budgets'],
  ['an earlier window where the clock was set far back', 'throttle/budgets'],
  ['who came after a report is not considered by its answer', 'throttle/budgets'],
  ['what is ahead given back at ticks', 'throttle/budgets'],
  ['no report of a standing', 'throttle/budgets'],
  ['a hold that is over told', 'throttle/budgets'],
  ['ends told at once where others wait in the process', 'throttle/budgets'],
  ['ends reported at once', 'throttle/budgets'],
  ['new waiters asked about', 'throttle/budgets'],
  ['deciding alone where no answer comes', 'throttle/budgets'],
  ['last figures told to a server that is down', 'throttle/budgets'],
  ['the server declared down', 'throttle/budgets'],
  ['answers read after a stall', 'throttle/budgets'],
  ['drift while a reply is under way', 'throttle/budget/window-clock'],
  ['nobody refused before the store has considered it', 'throttle/budgets'],
  ['a lease that ends', 'throttle/budgets'],
  ['a wait for the first answer', 'throttle/budgets'],
  ['shares of the places in an outage', 'throttle/budgets'],
  ['one request in a long outage', 'throttle/budgets'],
  ['none beyond a share that is used up', 'throttle/budgets'],
  ['no wait for a share that is used up', 'throttle/budgets'],
  ['only prices held in the store', 'throttle/budget/own-usage'],
  ['a price of the subject’s own', 'throttle/budget/price'],
  ['a price of the route while little is known of the subject', 'throttle/budget/price'],
  ['outliers left out', 'throttle/budget/price'],
  ['one figure for each subject', 'throttle/budget/price'],
  ['the eight before', 'throttle/budget/price'],
  ['a margin', 'throttle/budget/price'],
  ['a few routes of each subject', 'throttle/budget/price'],
  ['a line served as a request ends', 'throttle/budgets'],
  ['fields that pass over', 'throttle/budgets'],
  ['holds that expired with the window', 'throttle/budgets'],
  ['a grant that ends with its window', 'throttle/budgets'],
  ['a grant given up by the next report', 'throttle/budgets'],
  ['holds that last as long as those who wait are expected to', 'throttle/budgets'],
  ['strain of time seen late', 'throttle/budgets'],
  ['strain of what runs across the boundary', 'throttle/budgets'],
  ['ends told at once with few places left', 'throttle/budgets'],
  ['a standing grant only where one was asked for', 'throttle/budgets'],
  ['answers about a window that is over ignored', 'throttle/budgets'],
  ['what was told, anew in each window', 'throttle/budgets'],
  ['accounts kept while something of them matters', 'throttle/budgets'],
  ['strain and debt taken back by a reset', 'throttle/budgets'],
  ['client waits of other processes', 'throttle/budgets'],
  ['unseen time told', 'throttle/budgets'],
  ['ends told beside a long hold', 'throttle/budgets'],
  ['no report of what a grant covers', 'throttle/budgets'],
  ['refusals from memory asked about', 'throttle/budgets'],
  ['places in the process', 'throttle/budgets'],
  ['accounts kept while they report', 'throttle/budgets'],
  ['those who were decided alone', 'throttle/budgets'],
  ['a debt kept with the record', 'throttle/budgets'],
  ['running requests kept with the record', 'throttle/budgets'],
  ['a clock that was set', 'throttle/budget/window-clock'],
  ['a price that falls as more is known', 'throttle/budget/price'],
])

function of(file: string, rows: readonly Row[]): Mutant[] {
  return rows.map(([lacks, looked, from, to]) => {
    const [, seed = '1'] = /:(\d+)/.exec(looked) ?? []
    const modes = looked.replace(/:\d+/, '').split(' ') as Mode[]
    return { lacks, modes, seed: Number(seed), file, from, to }
  })
}
