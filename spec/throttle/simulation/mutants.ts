import type { Mode } from './scenario'

/** One mechanism left out, by a change of the text of a file of this repository. A spec finds those that no law finds. */
export interface Mutant {
  readonly lacks: string
  /** Those in which a law finds that, the likeliest first. */
  readonly modes: readonly Mode[]
  /** A seed of the first mode in which a law finds it. */
  readonly seed: number
  readonly file: string
  readonly from: string
  readonly to: string
}

/** `late:12 clocks`: seed 12 of mode `late`, then any seed of the two. Without `to` the text is cut out. */
type Row = readonly [lacks: string, foundBy: string, from: string, to?: string]

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  /** Stands for sync.lua, which answers alike: spec/throttle/redis/sync-lua.spec.ts. */
  'spec/throttle/simulation/model.ts': [
    ['the open window only', 'changing:10 carried killed', 'time < startOf(c) || time >= c.ends', 'false'],
    ['the order of reports', 'late:7', 'found >= c.seq', 'false'],
    ['counting anew for one that fits alone', 'waiting:77 hot killed', 'isFirstOut && c.running', 'false && c.running'],
    ['the expiry of holds', 'waiting:11 killed', 'time + Math.max(c.runsForUs + GRACE_US, LEAST_US) :', 'NEVER - 1 :'],
    ['the grace of holds', 'learned:29 waiting late', 'Math.max(c.runsForUs + GRACE_US, LEAST_US)', 'c.runsForUs'],
    ['expired holds counted as used', 'killed:1 clean', 'field.used += field.held'],
    ['what others hold', 'waiting:2', '- o.held - o.ahead - c.used', '- o.ahead - c.used'],
    ['what others have ahead', 'hot:17 clean', '- o.held - o.ahead - c.used', '- o.held - c.used'],
    ['one request always let in', 'waiting:11 strain', 'o.used + c.used) && isAlone)', 'o.used + c.used) && false)'],
    [
      'one let in only where nothing runs',
      'waiting:2 learned clean strain',
      'o.used + c.used) && isAlone)',
      'o.used + c.used))',
    ],
    [
      'nothing of its own beside a lone one',
      'waiting:4 learned clean strain',
      '(c.running === 0 && !isSpent',
      '(!isSpent',
    ],
    ['places', 'hot:129 waiting clean strain', 'slots: places - o.running - c.running', 'slots: 1e6'],
    ['places ahead that count as running', 'hot:5 clean strain', '= c.running + count + places', '= c.running + count'],
    ['the strain of the record', 'strain:5 waiting', 'Math.max(strain, c.strain)', 'c.strain'],
    ['strain that a process had not told', 'strain:4 late', "if (c.past !== 'news' && ends !== 0)", 'if (ends !== 0)'],
    ['running requests that pass over', 'clean:1 changing waiting strain', 'next.running += field.running'],
    ['strain that passes over', 'changing:1 strain', 'strain: strainAfter(totals, missed)', 'strain: NO_STRAIN'],
    ['a debt that passes over', 'carried:2', '= c.account.terms.carryOvershoot ? debtAfter(totals, missed) : 0', '= 0'],
    ['what is carried over, once', 'carried:1', 'o.used += carried - hash.sums.carried', 'o.used += carried'],
    ['the debt of the record', 'carried:82', 'Math.max(carried, c.carried)', 'c.carried'],
    ['a record that outlives its window', 'changing:1 carried strain', 'hash.lives = lives', 'hash.lives = c.ends'],
    ['excused waits told to others', 'clients:162', 'o.excused,\n      unseen: o.unseen', '0,\n      unseen: o.unseen'],
  ],
  'lib/throttle/budget/account.ts': [
    ['lines asked about soon', 'waiting:5', 'const ASK_US = 100_000', 'const ASK_US = 900_000'],
  ],
  'lib/throttle/budget/granted-time.ts': [
    ['the use of a grant', 'clean:9 hot', 'this.us = Math.max(0, this.us - priceUs)'],
    ['the use of a place', 'hot:5 clean strain', 'this.places = Math.max(0, this.places - 1)'],
    ['the limit of a grant', 'waiting:5 clean two', 'this.limitUs = report.limit', 'this.limitUs = 0'],
  ],
  'lib/throttle/budget/past.ts': [
    ['what was not told at a window’s end', 'strain:4 carried late', '(this.#hasNews || isUntold)', 'false'],
    ['strain heard', 'changing:1 strain', 'this.strain = figures.strain'],
    ['debt heard', 'carried:10', 'this.carriedUs = figures.carried'],
    ['strain', 'strain:1 waiting', 'strain * STRAIN_KEPT, limitUs > 0 ? (100 * workUs) / limitUs : 0', 'NO_STRAIN, 0'],
    ['strain that falls', 'strain:1 waiting', 'Math.max(strain * STRAIN_KEPT, limitUs', 'Math.max(strain, limitUs'],
    ['strain that falls over windows without requests', 'strain:4 carried', '* STRAIN_KEPT ** missed'],
    ['carried time left out of strain', 'carried:1', 'usedUs + unseenUs - carriedUs', 'usedUs + unseenUs'],
    ['what is carried over', 'carried:3', 'Math.max(0, usedUs + unseenUs - limitUs * (missed + 1))', '0'],
    ['each missed window pays for a limit', 'carried:32', 'limitUs * (missed + 1)', 'limitUs'],
    ['strain kept with the record', 'changing:1 strain carried', 'if (strain > STRAIN_FORGOTTEN)', 'if (false)'],
  ],
  'lib/throttle/store/link.ts': [
    ['accounts told again after a loss', 'evicted:2 lost rolledBack', 'if (hasLost) account.tellAgain()'],
    ['those who hold a grant told again after a loss', 'evicted:2 lost rolledBack', ' && now >= account.grant.until'],
    [
      'a new look where more live',
      'rolledBack:14 late clean',
      'tellAgain()\n      this',
      'tellAgain()\n      if (hasLost) this',
    ],
    ['reports at ticks', 'clean:4', 'this.ask(account, TOGETHER)'],
    ['a command that is not answered is over', 'late:2', 'this.#over(command)\n    const lost', 'const lost'],
    ['what was not answered given up', 'outage:1 late', 'for (const account of lost) account.giveUp()'],
    ['what a lost token means', 'evicted:2 lost rolledBack', 'hasLost || areMore', 'areMore'],
    [
      'heartbeats during an outage',
      'outage:7 cutOff',
      '(this.isDown ? BEAT_OPEN_MS : this',
      '(this.isDown ? 60_000 : this',
    ],
    ['the truth told at ticks', 'clean:4 late', 'if (Math.abs(untold) > toleranceUs) return true'],
    ['holds renewed', 'two:2 clients learned', 'return lastEnd > until', 'return false && lastEnd > until'],
    ['tolerance divided by the living', 'clean:4 late waiting', '(TOLERANCE * account.server.living)', 'TOLERANCE'],
  ],
  'lib/throttle/store/shared-store.ts': [
    ['a deadline for answers', 'outage:4 cutOff', 'DEADLINE_MS = 70', 'DEADLINE_MS = 70_000'],
  ],
  'lib/throttle/budget/window-clock.ts': [
    ['whole microseconds', 'clean:2', 'Math.round(time - (sentAt + now) / 2)', 'time - (sentAt + now) / 2'],
  ],
  'lib/throttle/budget/decide.ts': [
    ['refusals only in a window open for certain', 'clean:17 waiting', 'isHeard && account.isOpen(now)', 'isHeard'],
    ['letting go of clients that have gone', 'waiting:5', "if (hold.time.isOver) return 'gone'\n  const", 'const'],
    ['patience', 'waiting:2', 'if (now >= hold.waitsUntil) return', 'if (false) return'],
    ['the order of a line', 'waiting:2', 'hold === account.line[0] && fits(account', 'fits(account'],
    ['a line joined', 'waiting:10', 'if (line.length > 0) {', 'if (false) {'],
    ['one from a grant where nothing runs', 'carried:9 hot strain', '(isFirst || account', '(account'],
    ['the limit of a grant in decisions', 'waiting:5 clean two', 'limitUs >= grant.limitUs && '],
    ['places granted', 'hot:5 clean strain', ' && grant.places > 0'],
    ['shares in an outage', 'outage:12', 'leftThen > 0 ? leftThen / server.living', 'leftThen > 0 ? leftThen'],
    ['what others held in an outage', 'outage:1', '.used - heard.held - ownWhenHeard', '.used - ownWhenHeard'],
    ['lines asked about again', 'waiting:5', 'now >= account.askAt', 'false'],
    ['lines looked at', 'waiting:2', 'terms.lines.add(account)'],
  ],
  'lib/throttle/budget/hold.ts': [
    ['estimates that rise', 'learned:1 waiting late', 'if (takenUs >= this.expectedUs) {', 'if (false) {'],
    ['the cap of client waits', 'clients:1', 'if (beyondUs <= 0) continue', 'continue'],
    ['what runs across the boundary', 'clean:2', '(Math.max(hold.time.since, boundary))', '(hold.time.since)'],
  ],
  'lib/throttle/store/store.ts': [['the last reports', 'closed:4', 'const CLOSING_MS = 3_000', 'const CLOSING_MS = 0']],
}

export const MUTANTS: readonly Mutant[] = Object.entries(ROWS).flatMap(([file, rows]) =>
  rows.map(([lacks, foundBy, from, to = '']) => {
    const modes = foundBy.replace(/:\d+/, '').split(' ') as Mode[]
    return { lacks, modes, seed: Number(/:(\d+)/.exec(foundBy)?.[1] ?? 1), file, from, to }
  }),
)
