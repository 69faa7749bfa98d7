import type { Mode } from './scenario'

/** One mechanism left out, by a change of the text of a file of this repository, and the modes in which a law finds that. */
export interface Mutant {
  readonly lacks: string
  readonly modes: readonly Mode[]
  readonly file: string
  readonly from: string
  readonly to: string
}

const ACCOUNT = 'lib/throttle/account/account.ts'
const DECIDE = 'lib/throttle/account/decide.ts'
const FIGURES = 'lib/throttle/account/figures.ts'
const ACCOUNTS = 'lib/throttle/account/accounts.ts'
const ROLLOVER = 'lib/throttle/account/rollover.ts'
const CLOCK = 'lib/throttle/account/window-clock.ts'
const LEDGER = 'lib/throttle/ledger.ts'
const REPORT = 'lib/throttle/sync/report.ts'
const REPORTER = 'lib/throttle/sync/reporter.ts'
const SENDER = 'lib/throttle/sync/sender.ts'
const HEALTH = 'lib/throttle/sync/health.ts'
const STORE_CALLS = 'lib/throttle/sync/store-calls.ts'
/** Stands for sync.lua, which answers alike: spec/throttle/redis/sync-lua.spec.ts. */
const MODEL = 'spec/throttle/simulation/model.ts'

type Row = readonly [lacks: string, modes: string, from: string, to: string]

const OF_THE_STORE: readonly Row[] = [
  ['the order of reports', 'late', 'found >= c.seq', 'false'],
  ['the open window only', 'clocks late', 'time < c.starts || time >= c.ends', 'false'],
  [
    'counting anew where a wish is not met',
    'killed waiting',
    '|| c.count > room.slots) && o.expires',
    '|| c.count > room.slots) && false && o.expires',
  ],
  [
    'the expiry of fields',
    'killed waiting',
    'expires = time + Math.max(c.lasts + GRACE_US, LEAST_US, ahead > 0 ? LEASE_US : 0)',
    'expires = NEVER',
  ],
  ['the lease of what is ahead', 'killed hot', 'ahead > 0 ? LEASE_US : 0', 'ahead > 0 ? NEVER : 0'],
  ['expired holds counted as used', 'killed clean', 'field.used += field.held', ''],
  [
    'places that expire',
    'killed waiting',
    'field.held = field.ahead = field.running = 0',
    'field.held = field.ahead = 0',
  ],
  ['what others hold', 'waiting', '- o.held - o.ahead - c.used', '- o.ahead - c.used'],
  ['what others have ahead', 'hot clean', '- o.held - o.ahead - c.used', '- o.held - c.used'],
  [
    'one request always let in',
    'waiting strain',
    'if (o.running + c.running === 0 && o.used + c.used <= c.limit)',
    'if (false)',
  ],
  [
    'one let in only where nothing runs',
    'waiting learned clean strain',
    'if (o.running + c.running === 0 && o.used',
    'if (o.used',
  ],
  ['half of what is left at most ahead', 'hot clean', 'Math.floor((left - c.want) / 2)', 'left - c.want'],
  ['half of the places at most ahead', 'hot clean strain', 'Math.floor((slots - c.count) / 2)', 'slots - c.count'],
  ['the rest ahead', 'clean waiting strain', 'places > 0 ? Math.min(c.want, left) - c.unit : 0', '0'],
  ['places', 'waiting clean hot strain', 'slots: places - o.running - c.running', 'slots: 1e6'],
  [
    'places ahead that count as running',
    'hot clean strain',
    'const running = c.running + count + places',
    'const running = c.running + count',
  ],
  ['the strain of the record', 'strain waiting', 'Math.max(strain, c.strain)', 'c.strain'],
  ['running requests that pass over', 'changing clean waiting strain', 'next.running += field.running', ''],
  ['strain that passes over', 'changing strain', 'strain: strainAfter(totals, missed)', 'strain: NO_STRAIN'],
  ['what is carried over, once', 'carried', 'o.used += carried - hash.sums.carried', 'o.used + carried'],
  ['the debt of the record', 'carried', 'Math.max(carried, c.carried)', 'c.carried'],
  [
    'excused waits told to others',
    'clients',
    'excused: o.excused,\n      added: o.added,\n      ...{ strain',
    'excused: 0,\n      added: o.added,\n      ...{ strain',
  ],
]

const OF_REPORTS: readonly Row[] = [
  [
    'the truth told at ticks',
    'clean late',
    'if (Math.abs(untold) > toleranceOf(account) || grant.us > 0',
    'if (grant.us > 0',
  ],
  ['what is ahead given back at ticks', 'clean waiting hot', 'grant.us > 0 || told.ahead > 0', 'false'],
  ['charged time told apart', 'learned', 'own.addedUs !== told.added', 'false'],
  ['overshoot heard at the end of a window', 'strain', 'if (isBeyond(account, now) && now', 'if (false && now'],
  [
    'a hold that is over told',
    'waiting learned',
    'if ((!account.isBusy || account.hasEnded) && told.until > now + TICK_US)',
    'if (false)',
  ],
  ['ends told beside a long hold', 'two waiting', '(!account.isBusy || account.hasEnded)', '!account.isBusy'],
  ['holds renewed', 'two clients learned', "return endsLater ? 'tick' : undefined", 'return undefined'],
  [
    'ends told at once with few places left',
    'hot waiting strain',
    '(account.line.length > 0 || areFew(account, now))',
    'account.line.length > 0',
  ],
  [
    'ends told at once where others wait in the process',
    'hot waiting strain',
    '(account.line.length > 0 || areFew(account, now))',
    'areFew(account, now)',
  ],
  ['tolerance divided by the living', 'clean late waiting', '(TOLERANCE * server.living)', 'TOLERANCE'],
  [
    'the price of those who wait, anew',
    'learned',
    'waiter.priceUs = Math.min(waiter.applicant.price(account), waiter.applicant.limitUs)',
    '',
  ],
  ['a clock set back', 'clocks', ' || isBehind(account, answer)', ''],
  ['a clock that is hardly off', 'clocks', 'time < start - BEHIND_US', 'time < start'],
  ['old answers ignored', 'late', 'if (account.sent !== sent) return undefined', ''],
  ['the age of a grant', 'late stalls hot', 'grant.until = at + LEASE_US / 2', 'grant.until = Infinity'],
  ['the limit of a grant', 'clean waiting two', 'grant.limitUs = report.limit', 'grant.limitUs = 0'],
  ['strain heard', 'changing strain', 'account.strain = figures.strain', ''],
  ['debt heard', 'carried', 'account.carriedUs = figures.carried', ''],
  [
    'what is not known told again',
    'outage late',
    "if (told === undefined || account.hasNews) return 'tick'",
    "if (told === undefined) return undefined\n  if (account.hasNews) return 'tick'",
  ],
  ['lines asked about soon', 'waiting', 'const ASK_US = 100_000', 'const ASK_US = 900_000'],
]

const OF_THE_REPORTER: readonly Row[] = [
  [
    'accounts active after a loss',
    'lost evicted rolledBack',
    'this.#again.set(server, this.#accounts.spenders(server, nowUs(this.#clock)))',
    '',
  ],
  [
    'a new look where more live',
    'rolledBack late clean',
    'for (const account of this.#accounts.active) if (account.server === server) this.activate(account)',
    '',
  ],
  ['the last reports', 'closed', 'const CLOSING_MS = 3_000', 'const CLOSING_MS = 0'],
  ['reports at ticks', 'clean', 'this.ask(account, TOGETHER)', ''],
  ['ends reported at once', 'waiting clean strain', "if (dueAt(account, now) === 'now') this.ask(account)", ''],
  ['new waiters asked about', 'waiting clean', "if (next === 'again' || isNew || ", "if (next === 'again' || "],
]

const OF_HEALTH: readonly Row[] = [
  ['what a lost token means', 'lost evicted rolledBack', 'if (hasLost) for', 'if (false) for'],
  [
    'heartbeats during an outage',
    'outage cutOff',
    'this.#beatIn(this.isDown ? BEAT_DOWN_MS : BEAT_MS)',
    'this.#beatIn(60_000)',
  ],
  ['the server declared down', 'outage cutOff', 'this.isDown = true\n      this.downSince', 'this.downSince'],
]

const OF_ACCOUNTS: readonly Row[] = [
  ['what was not told at a window’s end', 'strain carried late', '(this.hasNews || isUntold)', 'false'],
  ['strain in the places', 'strain', '(live + 1) * limitUs * this.strain', '(live + 1) * limitUs * NO_STRAIN'],
  ['one alone has a place', 'waiting clean strain outage', 'return live === 0 || (live + 1)', 'return (live + 1)'],
  ['the use of a grant', 'hot clean', 'this.grant.us = Math.max(0, this.grant.us - hold.priceUs)', ''],
  ['the use of a place', 'hot clean strain', 'this.grant.places = Math.max(0, this.grant.places - 1)', ''],
]

const OF_ROLLOVER: readonly Row[] = [
  ['strain', 'strain waiting', 'strain * STRAIN_KEPT, limitUs > 0 ? (100 * measuredUs) / limitUs : 0', 'NO_STRAIN, 0'],
  ['strain that falls', 'strain waiting', 'Math.max(strain * STRAIN_KEPT, limitUs', 'Math.max(strain, limitUs'],
  ['strain that falls over windows without requests', 'carried strain', '* STRAIN_KEPT ** missed', ''],
  ['charged time left out of strain', 'learned', 'usedUs - addedUs - carriedUs', 'usedUs - carriedUs'],
  ['carried time left out of strain', 'carried', 'usedUs - addedUs - carriedUs', 'usedUs - addedUs'],
  ['what is carried over', 'carried', 'Math.max(0, usedUs - addedUs - limitUs * (missed + 1))', '0'],
]

const OF_REST: readonly Row[] = [
  ['figures of subjects at rest', 'clean waiting', 'own.restore(used, excused, added)', 'own.restore(0, 0, 0)'],
]

const OF_DECISIONS: readonly Row[] = [
  [
    'refusals from memory asked about',
    'killed stalls closed lost',
    'const UNHEARD_US = 2_000_000',
    'const UNHEARD_US = Infinity',
  ],
  [
    'refusals only in a window that is open for certain',
    'clean waiting',
    '&& isHeard && account.isOpen(now)',
    '&& isHeard',
  ],
  [
    'letting go of clients that have gone',
    'waiting',
    'if (applicant.isGone) done({ gone: true, account })\n    else if',
    'if',
  ],
  ['patience', 'waiting', 'else if (now >= waiter.until) done', 'else if (false) done'],
  ['the order of a line', 'waiting', 'left.length === 0 && fits(account', 'fits(account'],
  ['a line joined', 'waiting', 'if (line.length === 0) {\n    if (fits', 'if (true) {\n    if (fits'],
  ['places in the process', 'hot', 'isGranted && account.hasPlace(limitUs, now)', 'isGranted'],
  ['the limit of a grant in decisions', 'clean waiting two', '&& limitUs >= grant.limitUs', ''],
  ['a lease that ends', 'stalls late', '&& now < grant.until', ''],
  ['places granted', 'hot clean strain', '&& grant.places > 0', ''],
  ['shares in an outage', 'outage', 'leftThen > 0 ? leftThen / server.living', 'leftThen > 0 ? leftThen'],
  [
    'what others held in an outage',
    'outage',
    'limitUs - others.used - others.held - ownWhenHeard',
    'limitUs - others.used - ownWhenHeard',
  ],
  ['shares of the places in an outage', 'outage', 'own.live * server.living', 'own.live'],
  [
    'one request in a long outage',
    'outage',
    '!account.isBusy && now - account.server.downSince > LONG_OUTAGE_US',
    'false',
  ],
]

const OF_FIGURES: readonly Row[] = [
  ['estimates that rise', 'learned waiting late', '      if (hold.until <= now) {', '      if (false) {'],
  [
    'only prices held in the store',
    'stalls cutOff killed learned',
    'return this.#endsUs - this.#within * now + this.#parkedUs',
    'return this.#untilUs - this.#running * now + this.#parkedUs',
  ],
  ['holds that are parked renewed', 'two clients', 'if (this.#running < this.live) return Infinity', ''],
  ['the cap of client waits', 'clients', 'if (beyondUs <= 0) continue', 'continue'],
  ['client waits of other processes', 'clients', 'othersUs + this.excused(now)', 'this.excused(now)'],
  ['what runs across the boundary', 'clean', 'const from = Math.max(hold.from, boundary)', 'const from = hold.from'],
]

const OF_THE_LEDGER: readonly Row[] = [
  [
    'never an earlier window',
    'clean waiting clocks',
    'if (time >= account.end) {',
    'if (time >= account.end || time < account.start) {',
  ],
  ['a freed place for the next', 'hot waiting', 'if (account.grant.us > 0) account.grant.places++', ''],
  [
    'a line served as a request ends',
    'waiting',
    'this.#serve(account, now)\n    this.#reporter?.ended',
    'this.#reporter?.ended',
  ],
  [
    'lines asked about again',
    'waiting',
    'if (account.line.length > 0 && now >= account.askAt) this.#reporter?.ask(account)',
    '',
  ],
  ['lines looked at', 'waiting', 'this.#lines.add(account)', ''],
]

/** Each with the modes that are to find it, the likeliest first. */
export const MUTANTS: readonly Mutant[] = [
  ...of(MODEL, OF_THE_STORE),
  ...of(REPORT, OF_REPORTS),
  ...of(REPORTER, OF_THE_REPORTER),
  ...of(SENDER, [
    [
      'a command that is not answered is over',
      'late',
      "deadline(this.#clock, () => failed(new Error('no answer in 70 ms')))",
      "deadline(this.#clock, () => this.#sending.failed(command, new Error('no answer in 70 ms')))",
    ],
  ]),
  ...of(HEALTH, OF_HEALTH),
  ...of(STORE_CALLS, [
    ['a deadline for answers', 'outage cutOff', 'DEADLINE_MS = 70', 'DEADLINE_MS = 70_000'],
    ['answers read after a stall', 'stalls', 'clock.now() - dueAt > LATE_MS', 'false'],
  ]),
  ...of(CLOCK, [
    ['whole microseconds', 'clean', 'Math.round(time - (sentAt + now) / 2)', 'time - (sentAt + now) / 2'],
    ['drift while a reply is under way', 'late', '(1 / 2 + this.#drift)', '(1 / 2)'],
  ]),
  ...of(ACCOUNT, OF_ACCOUNTS),
  ...of(ROLLOVER, OF_ROLLOVER),
  ...of(ACCOUNTS, OF_REST),
  ...of(DECIDE, OF_DECISIONS),
  ...of(FIGURES, OF_FIGURES),
  ...of(LEDGER, OF_THE_LEDGER),
]

/** Found, but only after many seeds: run where SIMULATION_SEEDS asks for more than usual. */
export const SLOW: ReadonlySet<string> = new Set([
  'places ahead that count as running',
  'excused waits told to others',
  'the truth told at ticks',
  'tolerance divided by the living',
])

/** What no law finds in five of 300 seeds, and the spec that fails without it. */
export const PROVED_BY: ReadonlyMap<string, string> = new Map([
  ['places in the process', 'throttle/simulation'],
  ['half of the places at most ahead', 'throttle/simulation'],
  ['ends told beside a long hold', 'throttle/simulation'],
  ['drift while a reply is under way', 'throttle/account/window-clock'],
  ['charged time told apart', 'throttle/adversaries/processes.long'],
  ['overshoot heard at the end of a window', 'throttle/adversaries/processes.long'],
  ['the lease of what is ahead', 'throttle/ledger'],
  ['one alone has a place', 'throttle/request/places'],
  ['never an earlier window', 'throttle/ledger'],
  ['strain in the places', 'throttle/request/places'],
  ['refusals from memory asked about', 'throttle/redis/reset'],
  ['the limit of a grant', 'throttle/ledger'],
  ['the limit of a grant in decisions', 'throttle/ledger'],
  ['the age of a grant', 'throttle/ledger'],
  ['a lease that ends', 'throttle/ledger'],
  ['shares of the places in an outage', 'throttle/ledger'],
  ['one request in a long outage', 'throttle/ledger'],
  ['only prices held in the store', 'throttle/account/figures'],
  ['a freed place for the next', 'throttle/ledger'],
  ['a line served as a request ends', 'throttle/ledger'],
  ['what others have ahead', 'throttle/ledger'],
  ['the price of those who wait, anew', 'throttle/ledger'],
  ['ends reported at once', 'throttle/ledger'],
  ['ends told at once where others wait in the process', 'throttle/ledger'],
  ['new waiters asked about', 'throttle/ledger'],
  ['the open window only', 'throttle/ledger'],
  ['the server declared down', 'throttle/ledger'],
  ['answers read after a stall', 'throttle/ledger'],
  ['a hold that is over told', 'throttle/ledger'],
  ['a clock set back', 'throttle/ledger'],
  ['a clock that is hardly off', 'throttle/ledger'],
  ['old answers ignored', 'throttle/ledger'],
  ['the rest ahead', 'throttle/ledger'],
  ['half of what is left at most ahead', 'throttle/ledger'],
])

function of(file: string, rows: readonly Row[]): Mutant[] {
  return rows.map(([lacks, modes, from, to]) => ({ lacks, modes: modes.split(' ') as Mode[], file, from, to }))
}
