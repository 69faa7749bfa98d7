import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { syncLua } from '../../../lib/throttle/redis/assets'
import type { SyncCommand } from '../../../lib/throttle/sync/sync-protocol'
import { type Server, startRedis } from '../../support/redis'
import { type Field, syncModel } from '../window/simulation/model'

const WINDOW_US = 3_000_000

/** A small generator with a seed (mulberry32), so that a failure can be had again. */
function random(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

function figures(c: SyncCommand): number[] {
  const { start, end, seq, spent, hold, running, want, unit, slice, keep, limit, tolerance, leaseMs } = c
  return [start, end, seq, spent, hold, running, want, unit, slice, keep, limit, tolerance, leaseMs]
}

describe('sync.lua', () => {
  let server: Server
  let redis: Redis
  before(async () => {
    server = await startRedis()
    redis = new Redis(server.port)
  })
  after(async () => {
    redis.disconnect()
    await server.stop()
  })

  it('answers and writes as its model does, over random commands, alone and several together', async () => {
    const timed = syncLua
      .replace("local clock = call('TIME')\n", '')
      .replace('local time = clock[1] * 1000000 + clock[2]', 'local time = tonumber(ARGV[3])')
    assert.notEqual(timed, syncLua, 'the script reads TIME where this spec puts its own')
    const seed = Date.now() % 1e6
    const r = random(seed)
    const int = (least: number, most: number) => least + Math.floor(r() * (most - least + 1))
    const kinds = new Map<string, number>()
    const seqs = new Map<string, number>()
    const hashes = new Map<string, Map<string, Field>>()
    let time = (Date.now() + 7 * 864e5) * 1000 // the future, so that the real server keeps the keys

    function randomCommand(process: string): SyncCommand {
      const subject = `s${int(0, 3)}`
      const number = Math.floor(time / WINDOW_US) + (r() < 0.03 ? int(-1, 1) : 0)
      const seq = (seqs.get(subject + process) ?? 0) + 1
      seqs.set(subject + process, seq)
      const unit = r() < 0.8 ? int(1_000, 90_000) : 0
      return {
        id: subject,
        number,
        start: number * WINDOW_US,
        end: (number + 1) * WINDOW_US,
        seq: Math.max(1, seq - (r() < 0.08 ? int(1, 3) : 0)),
        spent: r() < 0.02 ? -int(0, 500_000) : int(0, r() < 0.1 ? 400_000 : 60_000),
        hold: r() < 0.5 ? int(0, 200_000) : 0,
        running: r() < 0.4 ? int(0, 5) : 0,
        want: unit > 0 && r() < 0.6 ? unit * int(1, 4) : 0,
        unit,
        slice: r() < 0.5 ? int(0, 200_000) : 0,
        keep: r() < 0.3 ? int(0, 50_000) : 0,
        limit: 1_000_000,
        tolerance: 30_000,
        leaseMs: 251,
      }
    }

    const keyOf = ({ id, number }: SyncCommand) => `${id}:${number}`
    function modelled(process: string, c: SyncCommand): number[] {
      const key = keyOf(c)
      const fields = hashes.get(key) ?? new Map<string, Field>()
      hashes.set(key, fields)
      const { written, time: said } = syncModel(fields, time, process, c)
      const kind = !written ? 'not written' : written.lone ? 'lone' : written.granted ? 'granted' : 'published'
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      if (!written) return [said]
      const { othersSpent, othersRunning, granted, more, lone, found } = written
      return [said, othersSpent, othersRunning, granted, more, +lone, found]
    }

    for (let i = 0; i < 3_000; i++) {
      time += int(0, 60_000) + (r() < 0.001 ? 5_000_000 : 0)
      const process = `p${r() < 0.3 ? int(0, 40) : int(0, 5)}`
      const commands = Array.from({ length: r() < 0.5 ? 1 : int(2, 5) }, () => randomCommand(process))
      const expected = commands.map((c) => modelled(process, c))
      const asked = JSON.stringify(commands.map(figures))
      const actual = await redis.eval(timed, commands.length, ...commands.map(keyOf), process, asked, time)
      assert.deepEqual(actual, expected, `seed ${seed}, step ${i}: ${asked}`)
      const last = commands.at(-1) as SyncCommand
      const field = hashes.get(keyOf(last))?.get(process)
      if (expected.at(-1)?.length === 1 || !field || r() > 0.05) continue
      const { spent, hold, running, slack, until, limit } = field
      const rest = hold + running + slack > 0 ? [hold, running, slack, until] : []
      const over = limit === undefined ? [] : [...(rest.length > 0 ? [] : ['', '', '', '']), limit]
      assert.equal(await redis.hget(keyOf(last), process), [field.seq, spent, ...rest, ...over].join(':'))
      assert.equal(await redis.pexpiretime(keyOf(last)), last.end / 1000)
    }
    for (const kind of ['not written', 'lone', 'granted', 'published']) assert.ok(kinds.get(kind), `no ${kind}`)
  })

  it('sets the expiry again at every write', async () => {
    const start = Date.now() * 1000 - 10_000_000
    const c: SyncCommand = {
      ...{ id: 's', number: 1, start, end: start + 60_000_000, seq: 1, spent: 1_000, hold: 0, running: 0 },
      ...{ want: 0, unit: 0, slice: 0, keep: 0, limit: 1_000_000, tolerance: 0, leaseMs: 251 },
    }
    await redis.eval(syncLua, 1, 'expiry', 'p', JSON.stringify([figures(c)]))
    await redis.persist('expiry')
    assert.equal(await redis.pttl('expiry'), -1)
    await redis.eval(syncLua, 1, 'expiry', 'p', JSON.stringify([figures({ ...c, seq: 2 })]))
    assert.ok((await redis.pttl('expiry')) > 0)
  })

  it('refuses what is not a whole number, and writes nothing, of what is beside it neither', async () => {
    const good = [0, 8e15, 1, 0, 0, 0, 0, 0, 0, 0, 1_000, 0, 251].map(String)
    const one = good.join()
    for (const bad of ['NaN', 'Infinity', '-Infinity', '0x10p99', '1.5', '1e300', '', '"one"', 'null', '{}', '"1"']) {
      const figures = `[[${one}],[${good.with(3, bad).join()}]]`
      await assert.rejects(redis.eval(syncLua, 2, 'good', 'bad', 'p', figures), /ERR|@user_script/, bad)
    }
    for (const few of ['[]', '[[1]]', '[1]', '', '1']) {
      await assert.rejects(redis.eval(syncLua, 1, 'bad', 'p', few), /ERR|@user_script/, few)
    }
    assert.equal(await redis.exists('good', 'bad'), 0)
    assert.ok(await redis.eval(syncLua, 1, 'good', 'p', `[[${one}]]`))
    assert.equal(await redis.exists('good'), 1)
  })
})
