// sync.lua answers and writes as its model does, and survives what is no report or no record.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { redisStore } from '../../../lib'
import { syncLua } from '../../../lib/throttle/redis/assets'
import { FIELD_BYTES, packReports, parseField, readAnswers } from '../../../lib/throttle/redis/record'
import { GRACE_US, LEASE_US, TICK_US } from '../../../lib/throttle/budget/report'
import type { Report } from '../../../lib/throttle/budget/report'
import { type Reported, reportFor } from './report'
import { redisOfSuite } from '../../support/redis'
import { assertIs, above, until } from '../../support/until'
import { type Hash, StoreModel, numberOf } from '../simulation/model'
import { Random } from '../simulation/random'
import { insideOf } from '../../../lib/throttle/store/store'

const WINDOW_US = 3_000_000
/** As lib/throttle/redis/redis-server.ts passes them. */
const TERMS = [LEASE_US, GRACE_US, GRACE_US + TICK_US]

const reportOf = (more: Reported) => reportFor({ policy: 'bench', id: 'id', starts: 0, ends: 2 ** 52, ...more })

/** Random reports of some processes: most as a process sends them, some old, closing, or of a store that lost its data. */
class Reports {
  readonly kinds = new Map<string, number>()
  /** In the future, so that the server keeps the keys. */
  time = (Date.now() + 7 * 864e5) * 1_000
  readonly #seqs = new Map<string, number>()
  readonly #r: Random

  constructor(
    seed: number,
    readonly model: StoreModel,
  ) {
    this.#r = new Random(seed)
  }

  next(process: string): Report {
    const r = this.#r
    this.time += r.chance(0.001) ? 5_000_000 : r.int(0, 60_000)
    const id = `s${r.int(0, 19)}`
    const number = Math.floor(this.time / WINDOW_US) + (r.chance(0.03) ? r.int(-1, 1) : 0)
    const seq = (this.#seqs.get(id + process) ?? 0) + 1
    this.#seqs.set(id + process, seq)
    const figures = {
      used: r.chance(0.03) ? -r.int(0, 500_000) : r.int(0, r.chance(0.1) ? 400_000 : 60_000),
      excused: r.int(0, 90_000),
      unseen: r.chance(0.2) ? r.int(-300_000, 300_000) : 0,
    }
    const terms = { strain: 100 + (r.chance(0.3) ? r.int(0, 500) : 0), carried: r.chance(0.2) ? r.int(0, 200_000) : 0 }
    const seqs = { seq: Math.max(1, seq - (r.chance(0.08) ? r.int(1, 3) : 0)) }
    const [hasNews, clears] = [r.chance(0.4), r.chance(0.05)]
    return reportFor({
      ...{ policy: 'bench', id, starts: number * WINDOW_US, ends: (number + 1) * WINDOW_US },
      ...{ ...figures, ...terms, ...seqs, past: clears ? 'cleared' : hasNews ? 'news' : 'known' },
      limit: r.pick([0, 500_000, 1_000_000, 1_000_000]),
      carries: r.chance(0.5),
      ...this.#asked(),
    })
  }

  #asked() {
    const r = this.#r
    const firstUs = r.chance(0.1) ? 0 : r.int(1, r.chance(0.3) ? 800_000 : 20_000)
    const count = r.chance(0.6) ? r.int(1, 12) : 0
    return {
      held: r.chance(0.7) ? 0 : r.int(0, r.chance(0.1) ? 1_000_000 : 100_000),
      running: r.chance(0.7) ? 0 : r.int(0, 6),
      runsForUs: r.int(0, r.chance(0.1) ? 2_000_000 : 100_000),
      ...{ firstNeededUs: count > 0 ? firstUs : 0, count },
      neededUs: (count > 0 ? firstUs : 0) + (count > 1 ? r.int(0, 100_000) : 0),
      askedAheadUs: r.chance(0.5) ? 0 : r.int(0, 120_000),
      askedAheadPlaces: r.int(0, 8),
      concurrency: r.pick([1, 4, 32, 1_000]),
    }
  }

  saw(report: Report, { status, figures }: ReturnType<StoreModel['report']>): void {
    const { used = 0, held = 0, aheadOfOthers = 0 } = figures ?? {}
    const left = report.limit - used - held - aheadOfOthers - report.used - report.held
    const isAlone = figures?.count === 1 && figures.granted > left
    const isPart = figures !== undefined && figures.count > 0 && figures.count < report.count
    const kinds = [
      status as string,
      ...(figures && figures.count > 0 ? ['granted'] : []),
      ...(isPart ? ['granted in part'] : []),
      ...(isAlone ? ['alone'] : []),
      ...(figures && figures.places > 0 ? ['places ahead'] : []),
    ]
    for (const kind of kinds) this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + 1)
  }
}

describe('sync.lua (its head has the terms)', () => {
  const own = redisOfSuite()

  /** The script with a time of this spec's own. */
  const timed = syncLua
    .replace("local clock = call('TIME')\n", '')
    .replace('local time = clock[1] * 1000000 + clock[2]', 'local time = tonumber(ARGV[#ARGV])')
  const keyOf = ({ account }: Report) => `${account.id}:0`

  async function report(process: string, reports: readonly Report[], time?: number) {
    const keys = reports.map(keyOf)
    // A name is not taken for a field of a process, though it is as long as one.
    const names = reports.map(({ account }) => account.id.padStart(FIELD_BYTES))
    const args = [process, packReports(reports), ...TERMS, ...names, ...(time === undefined ? [] : [time])]
    return readAnswers(keys, await own.redis.callBuffer('eval', time ? timed : syncLua, keys.length, ...keys, ...args))
  }

  /** A hash in Redis is as the model has it, its expiry included. */
  async function isAsModelled(key: string, hash: Hash): Promise<void> {
    const all = await own.redis.hgetallBuffer(key)
    for (const [name, { seq, used, held, ahead, expires, running }] of hash.fields) {
      const { seq: s, used: u, held: h, ahead: a, expires: e, running: n } = parseField(all[name] as Buffer) ?? {}
      assert.deepEqual([s, u, h, a, e, n], [seq, used, held, ahead, expires, running], name)
    }
    assert.deepEqual(
      Object.keys(all)
        .filter((name) => name.startsWith('p'))
        .sort(),
      [...hash.fields.keys()].sort(),
    )
    assert.equal(await own.redis.pexpiretime(key), Math.trunc(hash.lives / 1_000))
  }

  it('answers and writes as its model does, over random reports, alone and several together', async () => {
    assert.ok(!timed.includes("call('TIME')"), 'the script reads TIME where this spec puts its own')
    const seed = Date.now() % 1e6
    const r = new Random(seed)
    const model = new StoreModel()
    const random = new Reports(seed + 1, model)
    for (let i = 0; i < 3_000; i++) {
      const process = `p${r.chance(0.2) ? r.int(0, 40) : r.int(0, 5)}`
      const reports = Array.from({ length: r.chance(0.6) ? 1 : r.int(2, 4) }, () => random.next(process))
      // A record that has expired is gone, also where the report is for a window that has closed.
      for (const each of reports) {
        if ((model.hashes.get(each.account.id)?.lives ?? Infinity) > random.time) continue
        model.hashes.delete(each.account.id)
        await own.redis.del(keyOf(each))
      }
      const expected = reports.map((each) => model.report(process, each, random.time))
      const answers = await report(process, reports, random.time)
      assert.deepEqual(answers, expected, `seed ${seed}, step ${i}: ${JSON.stringify(reports)}`)
      reports.forEach((each, n) => random.saw(each, expected[n] as (typeof expected)[number]))
      const last = reports.at(-1) as Report
      const hash = model.hash(last.account.id, numberOf(last))
      if (hash === undefined) continue
      // A key or a field is lost now and then; the model loses them, too.
      if (r.chance(0.01)) {
        model.hashes.delete(last.account.id)
        await own.redis.del(keyOf(last))
      } else if (r.chance(0.01)) {
        hash.fields.delete(process)
        await own.redis.hdel(keyOf(last), process)
      } else if (r.chance(0.2)) await isAsModelled(keyOf(last), hash)
    }
    for (const kind of ['written', 'late', 'closed', 'granted', 'granted in part', 'alone', 'places ahead'])
      assertIs(random.kinds.get(kind) ?? 0, above(10), `${kind}: ${random.kinds.get(kind) ?? 0}`)
  })

  it('refuses what is no command, and writes nothing, of what is beside it neither', async () => {
    const good = packReports([reportOf({})])
    for (const bad of ['', '{}', good.subarray(8), good.subarray(0, -1)]) {
      const commands = Buffer.concat([good, Buffer.from(bad)])
      await assert.rejects(own.redis.eval(syncLua, 2, 'good', 'bad', 'p1', commands, ...TERMS), /ERR sync/)
    }
    await assert.rejects(own.redis.eval(syncLua, 1, 'good', 'p1', Buffer.concat([good, good]), ...TERMS), /ERR sync/)
    assert.equal(await own.redis.exists('good', 'bad'), 0)
    assert.ok(await own.redis.eval(syncLua, 1, 'good', 'p1', good, ...TERMS))
    assert.equal(await own.redis.exists('good'), 1)
  })

  it('takes whole numbers only, of either sign, up to a hundred years', async () => {
    for (const used of [NaN, Infinity, -Infinity, 1.5, 2 ** 53])
      assert.throws(
        () => packReports([reportOf({ used })]),
        /^RangeError: report: used must be a whole number; received/,
      )
    for (const used of [0, -1, 2 ** 31, 2 ** 32 - 1, -(2 ** 32), 3e15, -3e15]) {
      const one = reportOf({ id: `numbers${used}`, used })
      await report('p1', [one])
      const { p1 } = await own.redis.hgetallBuffer(keyOf(one))
      assert.equal(parseField(p1 as Buffer)?.used, used)
      const [answer] = await report('p2', [{ ...one, used: 0 }])
      assert.equal(answer?.figures?.used, used)
    }
  })

  it('leaves a damaged field of another process out where it adds up all', async () => {
    const time = (Date.now() + 7 * 864e5) * 1_000
    await report('p2', [reportOf({ id: 'damaged', held: 1_000_000, running: 1 })], time)
    await own.redis.hset('damaged:0', 'p2', 'x')
    const asks = { neededUs: 1_000, count: 1, firstNeededUs: 1_000 }
    const [told] = await report('p1', [reportOf({ id: 'damaged', ...asks })], time + 5_000_000)
    assert.equal(told?.figures?.granted, 1_000)
  })

  it('takes a report that cannot be written for the fault of its account alone', async (t) => {
    const store = redisStore(own.redis)
    t.after(() => store.close())
    const server = insideOf(store).serverOf('')
    await until(() => server.beat().catch(() => undefined))
    const starts = Date.now() * 1_000 - 1e6
    for (const wrong of [{ used: NaN }, { held: 2 ** 53 }, { runsForUs: 0.5 }, { limit: Infinity }]) {
      const reports = ['a', 'b', 'c'].map((id) =>
        reportOf({ id: id + Object.keys(wrong)[0], starts, ends: starts + 1e9 }),
      )
      reports[1] = { ...(reports[1] as Report), ...wrong }
      const answers = await server.report('p1', reports)
      assert.deepEqual(
        answers.map(({ status }) => status),
        ['written', 'unreadable', 'written'],
      )
      assert.match(
        answers[1]?.cause ?? '',
        new RegExp(`${reports[1]?.account.id}.*${Object.keys(wrong)[0]} must be a whole number`),
      )
    }
  })
})
