// express-tollgate top and advise: what they print, in a terminal, a pipe and as JSON.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { type TestContext, before, describe, it } from 'node:test'
import express from 'express'
import { Cluster, Redis } from 'ioredis'
import { type Advice, redisStore, throttle, throttleTest } from '../../lib'
import { parsePublishedWindow, type PublishedWindow } from '../../lib/inspect/published-window'
import type { Published } from '../../lib/inspect/redis-windows'
import type { RefusalsMessage } from '../../lib/throttle/refusals'
import { packRefusals } from '../../lib/throttle/redis/refusals-record'
import { run } from '../../lib/top/cli'
import { UNBOUNDED, screen, table } from '../../lib/top/screen'
import { FIRST_VIEW, type View, afterKey, viewed } from '../../lib/top/view'
import { startCluster } from '../redis/cluster'
import { chargedMs } from '../chaos/shared-total'
import { databaseOfSuite, freePort, redisOfTest, startServer } from '../support/redis'
import { listen, serve } from '../support/serve'
import { TYPESCRIPT } from '../support/typescript'
import { assertIs, atLeast, atMost, below, between, including, not, above, until } from '../support/until'

const MAIN = join(process.cwd(), 'lib/top/main.ts')

function started(command: string, args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const env = { ...process.env }
  delete env.REDIS_URL
  const child = spawn(command, args, { env })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (data: Buffer) => (stdout += data.toString()))
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })))
}

/** Runs it in this process, without a terminal. */
async function top(...args: string[]) {
  const [stdout, stderr]: [string[], string[]] = [[], []]
  const code = await run(args, {}, { write: (text) => stdout.push(text) }, { write: (text) => stderr.push(text) })
  return { code, stdout: stdout.join(''), stderr: stderr.join('') }
}

/** Runs it in a process of its own, as users do. */
const program = (...args: string[]) => started(process.execPath, [...TYPESCRIPT, MAIN, ...args])
const lineOf = (args: readonly string[]) =>
  [process.execPath, ...TYPESCRIPT, MAIN, ...args].map((arg) => `'${arg}'`).join(' ')

/** Runs it with its output piped to a shell command. The code is that of express-tollgate. */
const piped = (to: string, ...args: string[]) =>
  started('bash', ['-c', `${lineOf(args)} | ${to}; exit \${PIPESTATUS[0]}`])

/**
 * Where protected mode refuses: a Redis at an address of this machine that it takes for another host. A machine with no
 * address but loopback gets what Redis says, from a socket.
 */
async function guardedAddress(t: TestContext): Promise<string> {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  const outer = all.find(({ internal, family }) => !internal && family === 'IPv4')
  if (outer !== undefined) {
    const guarded = await startServer((dir, port) => ['--port', String(port), '--save', '', '--dir', dir])
    t.after(() => guarded.stop())
    return `${outer.address}:${guarded.port}`
  }
  const says = createServer((socket) => socket.end('-DENIED Redis is running in protected mode\r\n'))
  t.after(() => says.close())
  await once(says.listen(0, '127.0.0.1'), 'listening')
  return `127.0.0.1:${(says.address() as AddressInfo).port}`
}

/** Runs it in a pseudo-terminal of that size: that of script(1), which every Linux has. */
function inTerminal(columns: number, rows: number, ...args: string[]) {
  const sized = `stty cols ${columns} rows ${rows}; exec ${lineOf(args)}`
  const child = spawn('script', ['-qefc', sized, '/dev/null'])
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text))
  return {
    shown: () => shown,
    /** The lines of each picture so far; the last picture may not be whole yet. Each begins at the top left corner. */
    pictures: () =>
      shown
        .split('\x1b[H')
        .slice(1)
        .map((picture) => picture.replaceAll('\x1b[K', '').split(/\r*\n/)),
    press: (keys: string) => child.stdin.write(keys),
    ended: new Promise<number | null>((resolve) => child.once('close', resolve)),
  }
}

/** A whole number in so many bytes, the lowest first. */
function packed(n: number, bytes: number): Buffer {
  const eight = Buffer.alloc(8)
  eight.writeBigInt64LE(BigInt(n))
  return eight.subarray(0, bytes)
}

/** FIELD of sync.lua: a process's figures, with what is held until `expires`. */
const field = (used: number, { held = 0, running = 0, expires = 2 ** 50 } = {}) =>
  Buffer.concat([packed(3, 5), packed(used, 7), packed(held, 6), packed(0, 6), packed(expires, 7), packed(running, 3), Buffer.alloc(20)]) // prettier-ignore
/** SUMS of sync.lua: used time of all processes, the highest limit, and the window's end. */
const sums = (used: number, limit = 9_000_000, ends = 41_000) =>
  Buffer.concat([packed(used, 7), Buffer.alloc(44), packed(limit, 6), packed(ends, 7)])

const windowsIn = (stdout: string) => (JSON.parse(stdout) as { windows: PublishedWindow[] }).windows

/** What all windows hold in milliseconds, read another way than top does. */
async function spentIn(to: string | Cluster, prefix: string): Promise<number> {
  const nodes = typeof to === 'string' ? [new Redis(to)] : to.nodes('master')
  let ms = 0
  for (const node of nodes) {
    for (const key of (await node.keys('*')).filter((key) => key.startsWith(`${prefix}w4:{`))) {
      if ((await node.type(key)) !== 'hash' || key.endsWith(':theirs')) continue
      ms += chargedMs(await node.hgetallBuffer(key))
    }
    if (typeof to === 'string') node.disconnect()
  }
  return ms
}

/** Spends time for each of them through a real throttle, and waits until it is published. */
async function spend(to: string | Cluster, prefix: string, name: string, ms: Record<string, number>) {
  const before = await spentIn(to, prefix)
  const terms = { name, windowMs: 2_592_000_000, limitMs: 60_000 }
  const throttled = throttle({ ...terms, subject: (req) => req.get('X-Who'), store: redisStore(to, { prefix }) })
  const { get, close } = await listen(express().use(throttled).get('/', throttleTest()))
  for (const [who, spent] of Object.entries(ms))
    assert.equal((await get(`/?processingTime=${spent}`, { 'X-Who': who })).status, 200)
  // On a busy machine the store's deadline may pass: its heartbeat says again what was not answered.
  await until(() => spentIn(to, prefix), atLeast(Object.values(ms).reduce((a, b) => a + b, before)))
  await throttled.close()
  await close()
}

describe('express-tollgate top', () => {
  const database = databaseOfSuite()
  let url: string
  before(() => void (url = database.url))

  it('shows who has spent most first, by hash, and leaves other keys alone', async () => {
    const admin = database.redis
    await admin.mset('api[1]:w4:{x}:1:text', 'no hash', 'other', '1')
    await admin.hset('api[1]:w4:{AAAAAAAAAAAAAAAAAAAAAAAA}:1:theirs', 'field', 'not figures')
    const hostile = 'api[1]:w4:{BBBBBBBBBBBBBBBBBBBBBBBB}:1:min\u001b[2J\u009b\u202eute\u{1f600}' // by somebody else who may write there
    await admin.hset(
      hostile,
      's',
      sums(1_000_000, undefined, (Date.now() + 60_000) * 1_000),
      'process',
      field(1_000_000),
    )
    await admin.pexpire(hostile, 3_600_000)
    await spend(url, 'api[1]:', 'minute', { ada: 2_000, grace: 5_000 })
    await admin.zadd('api[1]:living:{beat}', 9e15, 'one', 9e15, 'other', 1, 'killed')
    const keys = async () => (await admin.keys('*')).filter((key) => !key.includes('alive')).sort()
    const before = await keys()
    const json = await top('top', '--redis', url, '--prefix', 'api[1]:', '--json')
    assert.deepEqual([json.code, json.stderr], [0, ''])
    const [grace, ada, theirs, ...more] = windowsIn(json.stdout)
    assert.ok(grace && ada && theirs && more.length === 0, json.stdout)
    assert.ok(ada.spentMs >= 2_000 && grace.spentMs >= 5_000, `${ada.spentMs}, ${grace.spentMs}`)
    assertIs(ada.spentMs, below(grace.spentMs))
    assertIs(grace.endsInMs, above(0))
    assertIs(grace.endsInMs, atMost(2_592_000_000))
    assert.deepEqual([grace.window, grace.processes, grace.running], ['minute', 1, 0])
    assert.notEqual(grace.subject, ada.subject)
    assert.equal(theirs.window, 'min\u001b[2J\u009b\u202eute\u{1f600}')
    const printed = await top('top', '--redis', url, '--prefix', 'api[1]:', '--once')
    assert.match(
      printed.stdout,
      /^3 open windows, 0 over the limit, [89]\.\d s spent, 0\.0 s on hold, [23] processes live\n0 refused in the last minute\n\nSUBJECT .*\n/,
    )
    assert.match(printed.stdout, new RegExp(`\n${grace.subject} +5\\.\\d s `))
    assert.match(printed.stdout, / min\\u\{1b\}\[2J\\u\{9b\}\\u\{202e\}ute\\u\{1f600\}\n$/)
    for (const { stdout } of [json, printed]) assert.match(stdout, /^[\n\x20-\x7e]+$/)
    assert.deepEqual(windowsIn((await top('top', '--redis', url, '--json')).stdout), [])
    assert.deepEqual(await keys(), before)
  })

  it('tells who is over the limit, and no more once they have their window back', async () => {
    await spend(url, 'over:', 'hour', { ada: 2_000, eve: 59_000 })
    const look = async () =>
      windowsIn((await top('top', '--redis', url, '--prefix', 'over:', '--json')).stdout).map(
        ({ overLimitMs }) => overLimitMs,
      )
    assert.deepEqual(await look(), [null, null])
    await spend(url, 'over:', 'hour', { eve: 1_500 })
    assert.deepEqual(await look(), [60_000, null])
    const { stdout } = await top('top', '--redis', url, '--prefix', 'over:')
    assert.match(stdout, /^2 open windows, 1 over the limit, /)
    assert.match(stdout, /\n\S+ +! 60\.\d s of 60\.0 s .*\n\S+ +2\.\d s of 60\.0 s /)
    const one = await top('top', '--redis', url, '--prefix', 'over:', '--find', 'eve')
    assert.match(one.stdout, /^1 open window, 1 over the limit, [^]*\neve +! 60\.\d s of 60\.0 s /)
    const [{ subject = '' } = {}] = windowsIn(
      (await top('top', '--redis', url, '--prefix', 'over:', '--json', '--find', 'eve')).stdout,
    )
    assert.match(
      (await top('top', '--redis', url, '--prefix', 'over:', '--find', subject.slice(3, 12))).stdout,
      /^1 open/,
    )
    assert.match((await top('top', '--redis', url, '--prefix', 'over:', '--find', 'nobody')).stdout, /^0 open/)
    const throttled = throttle({ store: redisStore(url, { prefix: 'over:' }), name: 'hour', windowMs: 2_592_000_000 })
    await until(() =>
      throttled.reset('eve').then(
        () => true,
        () => false,
      ),
    )
    await throttled.close()
    assert.deepEqual(await look(), [null, null])
  })

  it('tells how many were refused in the last minute, by reason, and since when a user is', async (t) => {
    const prefix = 'refused:'
    let release: (() => void) | undefined
    const terms = { name: 'day', windowMs: 86_400_000, limitMs: 600_000, wait: false, concurrency: 1 } as const
    const throttled = throttle({ ...terms, subject: (req) => req.get('X-Who'), store: redisStore(url, { prefix }) })
    const app = express().use(throttled)
    app.get('/charge', throttleTest())
    app.get('/hang', (_req, res) => void (release = () => res.end()))
    const { get } = await serve(app)
    t.after(() => release?.())
    t.after(() => throttled.close())
    const ask = async (name: string, path: string) =>
      (await get(`${path}?processingTime=600000`, { 'X-Who': name })).status
    const began = performance.now()
    assert.equal(await ask('eve', '/charge'), 200)
    for (let i = 0; i < 3; i++) assert.equal(await ask('eve', '/charge'), 429)
    const hanging = ask('ada', '/hang')
    await until(() => release, not(undefined), { answer: hanging })
    assert.equal(await ask('ada', '/hang'), 429)
    let published: Published | undefined
    await until(async () => {
      published = JSON.parse((await top('top', '--redis', url, '--prefix', prefix, '--json')).stdout) as Published
      return published.refused.concurrency === 1 && published.windows.length === 2
    })
    assert.deepEqual(published?.refused, { spent: 3, concurrency: 1 })
    const [eve, ada] = published?.windows ?? []
    for (const refused of [eve, ada]) {
      const forMs = refused?.refusedForMs ?? -1
      assertIs(forMs, between(0, performance.now() - began))
    }
    const { stdout } = await top('top', '--redis', url, '--prefix', prefix)
    assert.match(
      stdout,
      /^2 open windows, 1 over the limit, .*\n4 refused in the last minute: 3 spent, 1 concurrency\n/,
    )
    release?.()
    assert.equal(await hanging, 200)
  })

  it('sums refusals of processes, and takes no text of somebody else for one', async () => {
    const prefix = 'told:'
    const subject = 'A'.repeat(24)
    await database.redis.hset(`${prefix}w4:{${subject}}:1:day`, {
      s: sums(9_000_000, 1_000, 2 ** 51),
      one: field(9_000_000),
    })
    const message = (spent: number, sinceMs: number): RefusalsMessage => ({
      reasons: { spent },
      subjects: [{ subject, window: 'day', count: spent, sinceMs }],
      overload: { share: 0.5, delayMs: 40, refusedRequests: spent },
    })
    const now = Date.now() + 60_000
    await database.redis.hset(`${prefix}w4:{beat}:0:refusals`, {
      one: `${now} ${packRefusals(message(5, 60_000))}`,
      two: `${now} ${packRefusals(message(2, 180_000))}`,
      silent: `${now - 120_000} ${packRefusals(message(100, 999_000))}`,
      hostile: `${now} reason __proto__ 7\nreason constructor 1\nreason \u001b[2J 3\nsubject ../../etc 1 1 day\noverload x 1 1\nreason spent -4`,
      text: 'nothing',
    })
    const { stdout } = await top('top', '--redis', url, '--prefix', prefix, '--json')
    const { windows, refused, overloads } = JSON.parse(stdout) as Published
    assert.deepEqual(refused, { spent: 7, constructor: 1 })
    assert.equal(windows[0]?.refusedForMs, 180_000)
    assert.deepEqual(overloads.map(({ refusedRequests }) => refusedRequests).sort(), [2, 5])
  })

  it('advise says what limits would mean, as a table and as JSON', async () => {
    await spend(url, 'advise:', 'hour', { ada: 2_000, grace: 500, mary: 9_000, eve: 100 })
    const look = (...args: string[]) => top('advise', '--redis', url, '--prefix', 'advise:', ...args)
    const { stdout, stderr } = await look('--limit', '1s,5s', '--json')
    assert.equal(stderr, '')
    const [advice, ...more] = JSON.parse(stdout) as Advice[]
    assert.deepEqual([advice?.window, advice?.subjectWindows, more.length], ['hour', 4, 0])
    assert.deepEqual(advice?.limits.map(({ limitMs, subjectWindows }) => [limitMs, subjectWindows]), [[1_000, 2], [5_000, 1]]) // prettier-ignore
    const present = JSON.parse((await look('--json')).stdout) as Advice[]
    assert.equal(present[0]?.limitMs, 60_000)
    assert.deepEqual(present[0]?.limits.map(({ limitMs }) => limitMs), [30_000, 60_000, 120_000, 300_000]) // prettier-ignore
    assert.match((await look()).stdout, /^ +60\.0 s .* present limit$/m)
    const table = await look('--limit', '1s,5s', '--window', 'hour')
    assert.match(
      table.stdout,
      /^hour, the last 24 hours\n4 windows of users, [^]*\np50 [^]*\n +1\.00 s +50\.0 % +\(2 of 4\) /,
    )
    for (const line of table.stdout.split('\n')) assertIs(line.length, atMost(100), line)
    assert.match((await look('--window', 'minute')).stdout, /^no window "minute" with counted time/)
  })

  it('never sends KEYS, and writes nothing', async (t) => {
    const own = await redisOfTest(t) // which other specs send nothing
    const admin = new Redis(own.port)
    t.after(() => admin.disconnect())
    await spend(own.url, 'tollgate:', 'default', { ada: 10 })
    await admin.config('RESETSTAT')
    await top('top', '--redis', own.url, '--json')
    const sent = [...(await admin.info('commandstats')).matchAll(/^cmdstat_(\w+)/gm)].map(([, name]) => name)
    assert.ok(sent.includes('scan') && sent.includes('hgetall'), sent.join())
    const reads = ['scan', 'hgetall', 'zcount', 'time', 'info', 'hello', 'client', 'select', 'auth', 'config']
    assert.deepEqual(
      sent.filter((name) => !reads.some((read) => name?.startsWith(read))),
      [],
    )
  })

  for (const columns of [60, 200]) {
    it(`fills a terminal of ${columns} columns, obeys its keys and leaves it as it was`, async () => {
      const prefix = `wide${columns}:`
      await spend(url, prefix, 'a window with quite a long name, by any measure', { ada: 2_000, grace: 5_000 })
      const terminal = inTerminal(columns, 12, 'top', '--redis', url, '--prefix', prefix)
      await until(() => terminal.shown(), including('2 open windows'))
      terminal.press('/nobody\r')
      await until(() => terminal.pictures().at(-1)?.at(-1)?.startsWith('q quit  / nobody'))
      terminal.press('q')
      assert.equal(await terminal.ended, 0)
      const back = '\x1b[?25h\x1b[?1049l'
      assert.ok(terminal.shown().trimEnd().endsWith(back), 'the cursor and the screen are back')
      const pictures = terminal.pictures() // whole ones, now that nothing more comes
      for (const lines of pictures) {
        assert.equal(lines.length, 12)
        for (const line of lines) assertIs(line.replace(back, '').length, atMost(columns), `${line.length}: ${line}`)
      }
      assert.match(pictures[0]?.at(-1) ?? '', /^q quit {2}\/ filter {2}.*\[s/)
      assert.match(pictures.at(-1)?.[0] ?? '', /^0 open windows/)
    })
  }

  it('reads all masters of a Cluster', async (t) => {
    const cluster = await startCluster()
    t.after(() => cluster.stop())
    const client = new Cluster([...cluster.nodes], { lazyConnect: true })
    await client.connect()
    t.after(() => client.disconnect())
    const many = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`user-${i}`, 100 * (i + 1)]))
    const living = 'tollgate:living:{0}'
    await client.zadd(living, 9e15, 'one', 9e15, 'other', 1, 'killed')
    await spend(client, 'tollgate:', 'default', many)
    assert.equal(await client.zcard(living), 3, 'a throttle sends heartbeats there, which drop the killed one')
    const address = `redis://127.0.0.1:${cluster.masters[0]?.port}`
    const { stdout, stderr } = await top('top', '--redis', address, '--json')
    assert.equal(stderr, '')
    assert.equal(windowsIn(stdout).length, 12)
    assertIs(Number((JSON.parse(stdout) as Published).processes), atLeast(2))
    const owners = new Set<number>()
    for (const { subject } of windowsIn(stdout)) owners.add((await cluster.masterOf(`{${subject}}`)).port)
    assertIs(owners.size, above(1), 'subjects lie on more than one master')
  })

  it('says where Redis does not answer, and never the password', async () => {
    const port = await freePort()
    const { code, stdout, stderr } = await program('top', '--redis', `redis://ada:hush@127.0.0.1:${port}`)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, new RegExp(`^express-tollgate: Redis at 127\\.0\\.0\\.1:${port} .*ECONNREFUSED`))
    assert.equal(stderr.includes('hush'), false)
  })

  for (const command of ['top', 'advise'])
    it(`${command} names protected mode where the server refuses clients of other hosts`, async (t) => {
      const { code, stdout, stderr } = await top(command, '--redis', `redis://:hush@${await guardedAddress(t)}`)
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, /^express-tollgate: Redis at [\d.]+:\d+ .*protected mode/)
      assert.equal(stderr.includes('hush'), false)
    })

  it('ends quietly where the reader has read enough, as head(1) does', async () => {
    const windows = Array.from({ length: 3_000 }, (_, i) => `head:w4:{${'A'.repeat(20)}${String(i).padStart(4, '0')}}:3600000000:default`) // prettier-ignore
    const pipeline = database.redis.pipeline()
    for (const key of windows) pipeline.hset(key, { s: sums(1_000, 9_000_000, 2 ** 51) })
    await pipeline.exec()
    const { code, stdout, stderr } = await piped('head -1', 'top', '--redis', url, '--prefix', 'head:')
    assert.deepEqual([code, stdout.split('\n').length, stderr], [0, 2, ''])
    assert.match(stdout, /^3000 open windows, /)
  })

  it('says that no process reports, and how a prefix is given', async () => {
    const { code, stdout, stderr } = await top('top', '--redis', url, '--prefix', 'empty:')
    assert.deepEqual([code, stderr], [0, ''])
    assert.match(
      stdout,
      /^0 open windows, .*\n[^]*\nno process reports under the prefix empty: .*--prefix app:empty:\): .*TOLLGATE_DEGRADED\n$/,
    )
    const json = JSON.parse((await top('top', '--redis', url, '--prefix', 'empty:', '--json')).stdout) as Published
    assert.deepEqual([json.windows, json.refused, json.overloads, json.processes], [[], {}, [], 0])
  })

  it('says why processes cannot report: Redis has no memory left, or a proxy does not know HELLO', async (t) => {
    const redis = await redisOfTest(t)
    const proxy = createServer((client) => {
      const server = connect(redis.port, '127.0.0.1', () => client.on('data', (d) => server.write(String(d).replace(/hello/i, 'xello'))))
      server.pipe(client).on('close', () => server.destroy())
    }) // prettier-ignore
    t.after(() => proxy.close())
    await once(proxy.listen(0, '127.0.0.1'), 'listening')
    const refused = await top('top', '--redis', `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`)
    assert.match(
      refused.stdout,
      /^0 open .*\n.*\n! Redis at \S+ answers "ERR unknown command 'xello'": .*protocol: 2\n/,
    )
    await redis.command('config', 'set', 'maxmemory', '1')
    const { stdout } = await top('top', '--redis', redis.url)
    assert.match(stdout, /^0 open .*\n.*\n! Redis at \S+ has no memory left \(OOM\): .*\n\nSUBJECT .*\n$/)
  })

  it('keeps the last figures while Redis does not answer, says how old they are and why, and goes on by itself', async (t) => {
    const own = await redisOfTest(t)
    const to = own.url
    await spend(to, 'outage:', 'default', { ada: 2_000 })
    const terminal = inTerminal(100, 12, 'top', '--redis', to, '--prefix', 'outage:', '--every', '1')
    const first = () => terminal.pictures().at(-2)?.[0] ?? ''
    await until(first, /^1 open window, /)
    own.signal('SIGSTOP')
    try {
      await until(first, /^! figures of \d+ s ago: Redis at \S+ does not answer \(ETIMEDOUT\): check/)
      assert.match(terminal.pictures().at(-2)?.[1] ?? '', /^1 open window, 0 over the limit, 2\.\d s spent/)
    } finally {
      own.signal('SIGCONT')
    }
    await until(first, /^1 open window, /)
    terminal.press('q')
    assert.equal(await terminal.ended, 0)
  })

  it('says its version', async () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
    for (const flag of ['--version', '-v']) {
      assert.deepEqual(await program(flag), { code: 0, stdout: `${version}\n`, stderr: '' })
    }
  })

  it('says what is wrong with its arguments', async () => {
    for (const [args, said] of [
      [['top'], /which Redis\? Give --redis with a redis:\S+ URL, or set REDIS_URL/],
      [['top', '--redis', 'http://ada:hush@localhost'], /--redis must be/],
      [['bottom', '--redis', url], /the commands are top and advise; received "bottom"/],
      [['advise', '--redis', url, '--limit', '10'], /--limit must be a list such as 10s.*; received "10"/],
      [['advise', '--redis', url, '--hours', '169'], /--hours must be 1 to 168; received "169"/],
      [['top', '--redis', url, '--every', '0'], /--every must be 1 to 3600; received "0"/],
      [['top', '--rows'], /--rows/],
      [['top', 'redis://:hush@localhost'], /received "top redis:\/\/\.\.\.\n/],
      [['top', 'redis://localhost?password=hush'], /received "top redis:\/\/\.\.\.\n/],
      [['top', '--redis', url, '--every', 'redis://:hu/hush@localhost'], /received "redis:\/\/\.\.\./],
      [['top', '--redisredis://:hush@localhost'], /--redisredis:\/\/\.\.\./],
    ] as const) {
      const { code, stderr } = await top(...args)
      assert.equal(code, 2)
      assert.match(stderr, said)
      assert.equal(stderr.includes('hush'), false)
    }
  })
})

describe('parsePublishedWindow()', () => {
  const key = 'p:w4:{AAAAAAAAAAAAAAAAAAAAAAAA}:7:a:b'
  const parse = (fields: Record<string, Buffer>, of = key) => parsePublishedWindow('p:', of, fields, 1_000)

  it('sums the processes, running ones and those at rest', () => {
    const fields = {
      s: sums(4_000_000),
      one: field(5_000_000, { held: 200_000, running: 2 }),
      two: field(-1_000_000),
    }
    assert.deepEqual(parse(fields), {
      ...{ window: 'a:b', subject: 'AAAAAAAAAAAAAAAAAAAAAAAA', name: undefined, spentMs: 4_000, holdMs: 200 },
      ...{ running: 2, limitMs: 9_000, overLimitMs: null, processes: 2, endsInMs: 40, refusedForMs: null },
    })
  })

  it('counts what a silent process held as used once it has expired', () => {
    const silent = field(5_000_000, { held: 200_000, running: 2, expires: 1_000 })
    const { spentMs, holdMs, running } = parse({ s: sums(5_000_000), silent }) as PublishedWindow
    assert.deepEqual([spentMs, holdMs, running], [5_200, 0, 0])
  })

  it('reads the name, of 47 bytes, too, and no more of one than redisStore() would write', () => {
    const named = (n: Buffer) => parse({ s: sums(2), one: field(2), n })
    const name = `user:${'a'.repeat(42)}`
    assert.deepEqual([named(Buffer.from(name))?.name, named(Buffer.from(name))?.processes], [name, 1])
    const foreign = named(Buffer.from(`\u001b[2J\u202e${'x'.repeat(9_999)}`))?.name ?? ''
    assertIs(Buffer.byteLength(foreign), atMost(64))
    assert.doesNotMatch(foreign, /\p{C}/u)
  })

  it('tells the limit where nothing of it is left', () => {
    const over = (limit: number) => parse({ s: sums(5_000_000, limit), one: field(5_000_000) })?.overLimitMs
    assert.deepEqual([over(4_000_000), over(5_000_000), over(5_000_001)], [4_000, 5_000, null])
  })

  it('takes nothing else for a window', () => {
    const [s, one] = [sums(2), field(2)]
    assert.equal(parse({ s: sums(2, 9, 1_000), one }), undefined, 'a window that is over')
    assert.equal(parse({}), undefined)
    assert.equal(parse({ one }), undefined)
    assert.equal(parse({ s, one: Buffer.from('x') }), undefined)
    assert.equal(parse({ s: s.subarray(1), one }), undefined)
    assert.equal(parse({ s, one }, 'p:living:{beat}'), undefined)
  })
})

describe('table() and screen()', () => {
  const windowOf = (more: Partial<PublishedWindow> = {}): PublishedWindow => ({
    ...{
      window: 'default',
      subject: 'A'.repeat(24),
      name: undefined,
      spentMs: 1,
      holdMs: 0,
      running: 0,
      overLimitMs: null,
      refusedForMs: null,
    },
    ...{ limitMs: 9, processes: 1, endsInMs: 9 },
    ...more,
  })
  const many = Array.from({ length: 30 }, () => windowOf())
  const of = (windows: readonly PublishedWindow[]) => ({ windows, refused: {}, overloads: [] })

  for (const columns of [60, 61, 79, 80, 100, 120, 200]) {
    it(`fill ${columns} columns and no more, whatever the figures and names`, () => {
      const huge = windowOf({ spentMs: 86_400_000_000, holdMs: 1e9, running: 99_999, endsInMs: 2_592_000_000 })
      const named = windowOf({ window: `${'long '.repeat(25)}\u001b[2J`, overLimitMs: 86_400_000 })
      const ada = windowOf({ name: 'user:25:https://ident.example.org:ada' })
      for (const windows of [many, [huge, named], [ada], [ada, named], []]) {
        const lines = screen(of(windows), FIRST_VIEW, { rows: 12, columns })
        assert.equal(lines.length, 12)
        for (const line of lines) assertIs(line.length, atMost(columns), `${line.length}: ${line}`)
        assert.doesNotMatch(lines.join(''), /\p{Cc}/u)
      }
      const heading = screen(of(many), FIRST_VIEW, { rows: 12, columns })[3] ?? ''
      for (const title of ['SUBJECT', 'USED OF LIMIT', 'ENDS IN', 'WINDOW']) assert.ok(heading.includes(title), title)
      assert.equal(heading.includes('REFUSED FOR'), columns >= 70)
      assert.equal(heading.includes('PROCESSES'), columns >= 120)
    })
  }

  it('say on a line of its own what processes shed', () => {
    const overloads = [
      { share: 0.4, delayMs: 180, refusedRequests: 20 },
      { share: 0.13, delayMs: 90, refusedRequests: 3 },
    ]
    const lines = screen({ windows: many, refused: {}, overloads }, FIRST_VIEW, { rows: 12, columns: 120 })
    assert.equal(lines[2], '2 overloaded processes: 23 refused, 13 % of the work let in, event loop 180 ms late')
    assert.deepEqual([lines.length, lines.at(-2)], [12, 'and 25 more'])
    assert.equal(screen({ ...of([]), overloads }, FIRST_VIEW, { rows: 12, columns: 60 })[2]?.length, 60)
  })

  it('say how many were refused in the last minute, by reason, and for how long whose requests are', () => {
    const windows = [windowOf({ refusedForMs: 754_000 }), windowOf({ refusedForMs: 2_400 }), windowOf()]
    const refused = { queue: 14, spent: 812 }
    const lines = screen({ ...of(windows), refused }, FIRST_VIEW, { rows: 12, columns: 80 })
    assert.equal(lines[1], '826 refused in the last minute: 812 spent, 14 queue')
    const at = (lines[3] ?? '').indexOf('REFUSED FOR')
    assert.deepEqual(
      lines.slice(4, 7).map((line) => line.slice(at, at + 11).trim()),
      ['13 min', '2.4 s', ''],
    )
  })

  it('show a name where it is known, as text', () => {
    const windows = [
      { ...windowOf(), name: 'user:ada' },
      { ...windowOf(), name: '\u001b[2Jeve' },
    ]
    assert.match(table(of(windows), UNBOUNDED), /\nuser:ada  .*\n\\u\{1b\}\[2Jeve  /)
  })

  it('give a long name the room that is left, and keep its end', () => {
    const windows = [windowOf({ name: 'user:25:https://ident.example.org:ada' }), windowOf({ subject: 'B'.repeat(24) })]
    const named = (columns: number) => screen(of(windows), FIRST_VIEW, { rows: 12, columns })[4]?.split(' ')[0]
    assert.equal(named(120), 'user:25:https://ident.example.org:ada')
    assert.equal(named(80), 'user:25:https:…mple.org:ada')
    assert.equal(named(60), 'user:2…mple.org:ada')
    assert.match(table(of(windows), UNBOUNDED), /\nuser:25:https:\/\/ident.example.org:ada  /)
  })

  it('count those that do not fit', () => {
    const lines = table(of(many), { rows: 10, columns: 200 }).trimEnd().split('\n')
    assert.deepEqual([lines.length, lines.at(-1)], [10, 'and 25 more'])
    assert.equal(screen(of(many), FIRST_VIEW, { rows: 10, columns: 200 }).at(-2), 'and 26 more')
    assert.equal(table(of(many), UNBOUNDED).split('\n').length, 35)
  })
})

describe('afterKey() and viewed()', () => {
  const one = {
    ...{ window: 'default', subject: 'one', name: undefined, spentMs: 30, holdMs: 5, running: 1 },
    ...{ limitMs: 10, overLimitMs: null, processes: 3, refusedForMs: null },
  }
  const windows: PublishedWindow[] = [
    { ...one, endsInMs: 50 },
    { ...one, subject: 'two', spentMs: 20, holdMs: 9, overLimitMs: 10, processes: 1, endsInMs: 90 },
    { ...one, subject: 'three', window: 'search', spentMs: 10, holdMs: 1, running: 7, endsInMs: 10 },
  ]
  const after = (keys: readonly string[]) =>
    keys.reduce<View | undefined>((view, key) => view && afterKey(view, key), FIRST_VIEW)
  const order = (...keys: string[]) => viewed(windows, after(keys) as View).map(({ subject }) => subject)

  it('sort by key', () => {
    assert.deepEqual(order(), ['one', 'two', 'three'])
    assert.deepEqual(order('e'), ['three', 'one', 'two'])
    assert.deepEqual(order('h'), ['two', 'one', 'three'])
    assert.deepEqual(order('r'), ['three', 'one', 'two'])
    assert.deepEqual(order('p'), ['one', 'three', 'two'])
    assert.deepEqual(order('l'), ['two', 'one', 'three'])
    assert.deepEqual(order('e', 'x', '\x1b[A', 's'), ['one', 'two', 'three'], 'other keys change nothing')
  })

  it('filter by hash or window; escape shows all again', () => {
    assert.deepEqual(order('/', 't', 'w'), ['two'])
    assert.deepEqual(order('/', 's', 'e', 'a', '\r', 'e'), ['three'], 'a letter is text while it is typed, then a key')
    assert.deepEqual(order('/', 't', 'w', 'x', '\x7f'), ['two'])
    assert.deepEqual(order('/', 't', 'w', '\x1b'), ['one', 'two', 'three'])
    assert.deepEqual(order('/', 't', 'w', '\r', '\x1b'), ['one', 'two', 'three'])
  })

  it('quit with q or Ctrl-C, but not with a q of the filter', () => {
    assert.equal(after(['q']), undefined)
    assert.equal(after(['/', '\x03']), undefined)
    assert.equal(after(['/', 'q'])?.filter, 'q')
  })
})
