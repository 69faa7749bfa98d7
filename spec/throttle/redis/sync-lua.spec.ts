import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { syncLua } from '../../../lib/throttle/redis/assets'
import { faultIn, packCommands, parseFigures, readReplies } from '../../../lib/throttle/redis/window-record'
import type { SyncCommand, SyncReply } from '../../../lib/throttle/sync/sync-protocol'
import { type Server, startRedis } from '../../support/redis'
import { syncCommand } from '../../support/sync-command'
import { packTotals } from '../../support/window-record'
import { type HashModel, renderHash, syncModel } from '../window/simulation/model'

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

  async function sync(keys: readonly string[], commands: readonly SyncCommand[]): Promise<SyncReply[]> {
    return readReplies(keys, await redis.callBuffer('eval', syncLua, keys.length, ...keys, packCommands(commands)))
  }

  it('answers and writes as its model does, over random commands, alone and several together', async () => {
    const timed = syncLua
      .replace("local clock = call('TIME')\n", '')
      .replace('local time = clock[1] * 1000000 + clock[2]', 'local time = tonumber(ARGV[2])')
    assert.notEqual(timed, syncLua, 'the script reads TIME where this spec puts its own')
    const seed = Date.now() % 1e6
    const r = random(seed)
    const int = (least: number, most: number) => least + Math.floor(r() * (most - least + 1))
    const kinds = new Map<string, number>()
    const seqs = new Map<string, number>()
    const hashes = new Map<string, HashModel>()
    let time = (Date.now() + 7 * 864e5) * 1000 // the future, so that the real server keeps the keys

    const stored = new Map<string, { seq: number; incarnation: number; ended: number }>()
    const ended = new Set<string>()
    function randomCommand(process: string): SyncCommand {
      const subject = `s${int(0, 12)}`
      const number = Math.floor(time / WINDOW_US) + (r() < 0.03 ? int(-1, 1) : 0)
      const seq = (seqs.get(subject + process) ?? 0) + 1
      seqs.set(subject + process, seq)
      const unit = r() < 0.8 ? int(1_000, 90_000) : 0
      const known = stored.get(`${subject}:${number}${process}`)
      return {
        ...{ id: subject, number, process, starts: number * WINDOW_US, ends: (number + 1) * WINDOW_US },
        validUntil: time + int(-1_000, 60_000),
        stored: r() < 0.9 ? (known?.seq ?? 0) : int(0, 3),
        incarnation: r() < 0.9 ? (known?.incarnation ?? 0) : int(0, 3_000),
        ended: r() < 0.9 ? (known?.ended ?? 0) : int(0, 50_000),
        closing: r() < 0.05,
        seq: Math.max(1, seq - (r() < 0.08 ? int(1, 3) : 0)),
        spent: r() < 0.02 ? -int(0, 500_000) : int(0, r() < 0.1 ? 400_000 : 60_000),
        hold: r() < 0.5 ? int(0, r() < 0.15 ? 1_000_000 : 200_000) : 0, // rarely all that is left: a process runs one alone
        running: r() < 0.15 ? int(0, 5) : 0,
        want: unit > 0 && r() < 0.6 ? unit * int(1, 4) : 0,
        unit,
        isAwaited: false,
        slice: r() < 0.5 ? int(0, 200_000) : 0,
        keep: r() < 0.3 ? int(0, 50_000) : 0,
        limit: 1_000_000,
        tolerance: 30_000,
        leaseMs: r() < 0.02 ? 60_001 : 251,
      }
    }

    const keyOf = ({ id, number }: SyncCommand) => `${id}:${number}`
    function modelled(c: SyncCommand): SyncReply {
      const { hash, reply } = syncModel(hashes.get(keyOf(c)), time, c)
      if (hash) hashes.set(keyOf(c), hash)
      const { written } = reply
      const kind = !written ? 'not written' : written.lone ? 'lone' : written.granted ? 'granted' : 'published'
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      if (!written) return reply
      if (c.closing) kinds.set('closed', (kinds.get('closed') ?? 0) + 1)
      if (c.closing) ended.add(keyOf(c))
      stored.set(keyOf(c) + c.process, { seq: c.seq, incarnation: written.incarnation, ended: written.ended })
      return reply
    }

    for (let i = 0; i < 3_000; i++) {
      time += int(0, 60_000) + (r() < 0.001 ? 5_000_000 : 0)
      const process = `p${r() < 0.3 ? int(0, 40) : int(0, 5)}`
      const commands = Array.from({ length: r() < 0.5 ? 1 : int(2, 5) }, () => randomCommand(process))
      const expected = commands.map(modelled)
      const keys = commands.map(keyOf)
      const actual = await redis.callBuffer('eval', timed, keys.length, ...keys, packCommands(commands), time)
      assert.deepEqual(readReplies(keys, actual), expected, `seed ${seed}, step ${i}: ${JSON.stringify(commands)}`)
      const last = commands.at(-1) as SyncCommand
      const hash = hashes.get(keyOf(last))
      // A field, a record or a whole key is lost now and then; the model loses it, too.
      if (hash && r() < 0.01) {
        hashes.delete(keyOf(last))
        await redis.del(keyOf(last))
        kinds.set('lost', (kinds.get('lost') ?? 0) + 1)
      } else if (hash?.fields.has(process) && r() < 0.01) {
        const fields = new Map(hash.fields)
        fields.delete(process)
        hashes.set(keyOf(last), { ...hash, fields })
        await redis.hdel(keyOf(last), process)
      } else if (hash && r() < 0.1) {
        const { h, ...found } = await redis.hgetallBuffer(keyOf(last))
        assert.deepEqual(h?.length ? { ...found, h } : found, renderHash(hash))
        assert.equal(await redis.pexpiretime(keyOf(last)), last.ends / 1000)
      }
    }
    for (const kind of ['not written', 'lone', 'granted', 'published', 'closed', 'lost'])
      assert.ok(kinds.get(kind), `no ${kind}`)
  })

  it('sets the expiry again at every write', async () => {
    const c = syncCommand({ spent: 1_000 })
    await sync(['expiry'], [c])
    await redis.persist('expiry')
    assert.equal(await redis.pttl('expiry'), -1)
    await sync(['expiry'], [{ ...c, seq: 2 }])
    assert.ok((await redis.pttl('expiry')) > 0)
  })

  it('refuses what is no command, and writes nothing, of what is beside it neither', async () => {
    const c = syncCommand({ spent: 1_000 })
    const good = packCommands([c])
    for (const bad of ['', '{}', 'process1', 'process1\0', good.subarray(8), good.subarray(0, -1)]) {
      const commands = Buffer.concat([good, Buffer.from(bad)])
      await assert.rejects(redis.eval(syncLua, 2, 'good', 'bad', commands), /ERR sync/)
    }
    await assert.rejects(redis.eval(syncLua, 1, 'good', Buffer.concat([good, good])), /ERR sync/)
    await assert.rejects(redis.eval(syncLua, 1, 'good'), /ERR sync/)
    assert.equal(await redis.exists('good', 'bad'), 0)
    assert.ok(await redis.eval(syncLua, 1, 'good', good))
    assert.equal(await redis.exists('good'), 1)
  })

  it('takes whole numbers only, of either sign, up to the largest', async () => {
    for (const bad of [NaN, Infinity, -Infinity, 1.5, 2 ** 53]) {
      assert.match(String(faultIn(syncCommand({ spent: bad }))), /^RangeError: sync: spent must be a whole number; rec/)
    }
    assert.equal(faultIn(syncCommand({})), undefined)
    for (const spent of [0, -1, 2 ** 31, 2 ** 32 - 1, -(2 ** 32), 9e14, -9e14]) {
      await redis.del('numbers')
      await sync(['numbers'], [syncCommand({ spent, limit: Number.MAX_SAFE_INTEGER })])
      const { process1 } = await redis.hgetallBuffer('numbers')
      assert.equal(parseFigures(process1 as Buffer)?.spent, spent)
    }
  })

  it('answers that a key cannot be read, and serves the others beside it', async () => {
    const c = syncCommand({ spent: 1_000 })
    const later = packTotals({ incarnation: 0, gone: 0, inherited: 0, sum: 5, limit: undefined }, 3)
    await redis.set('text', 'not a hash')
    await redis.hset('later', 't', later, 'other', 'as it will be')
    const [text, other, well] = await sync(['text', 'later', 'well'], [c, c, c])
    assert.match(text?.unreadable as string, /^text: .*WRONGTYPE/)
    assert.match(other?.unreadable as string, /^later: .*later version/)
    assert.deepEqual([text?.written, other?.written, well?.unreadable], [undefined, undefined, undefined])
    assert.equal(well?.written?.found, 0)
    assert.equal(await redis.get('text'), 'not a hash')
    assert.deepEqual(await redis.hgetallBuffer('later'), { t: later, other: Buffer.from('as it will be') })
  })

  it('mends fields that are damaged, and sums what can be read', async () => {
    const synced = async (process: string, seq: number, stored: number) => {
      const command = syncCommand({ process, seq, stored, spent: 1_000, hold: 500, running: 1 })
      return (await sync(['damaged'], [command]))[0]?.written?.othersSpent
    }
    for (const process of ['one', 'two', 'three']) await synced(process, 1, 0)
    for (const damage of ['', 'x', 'not figures', 'v3:1:2:3', '\u0000'.repeat(300)]) {
      await redis.hset('damaged', 't', damage, 'h', damage, 'two', damage, 'one', damage)
      const others = await synced('one', 2, 1)
      assert.equal(others, 1_000, `${damage}: only the third can be read`)
      const all = await synced('two', 2, 1)
      assert.equal(all, 2_000)
      await redis.del('damaged')
      for (const process of ['one', 'two', 'three']) await synced(process, 1, 0)
    }
    for (const figures of [Buffer.alloc(12, 1), Buffer.alloc(35, 2)]) {
      for (const name of ['t', 'h', 'x'])
        await redis.hset('damaged', { t: '', h: '', x: 'abcdefgh@12,', [name]: figures })
      const others = await synced('one', 3, 1)
      assert.equal(others, 2_000, 'none of the sums is taken for a process')
      await redis.del('damaged')
      for (const process of ['one', 'two', 'three']) await synced(process, 1, 0)
    }
  })

  it('is told by what it answers', () => {
    for (const reply of [undefined, [], ['text'], [Buffer.alloc(87)], [Buffer.alloc(176)], 'OK']) {
      assert.throws(() => readReplies(['key'], reply), /^Error: sync.lua answered something else than replies$/)
    }
  })
})
