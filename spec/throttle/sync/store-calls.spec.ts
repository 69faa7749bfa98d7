import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import { type Answer, type Beat, type Report, type StoreServer, type ThrottleStore, throttle } from '../../../lib'
import { throttledApp } from '../../support/throttled-app'
import { until } from '../../support/until'
import { StoreModel } from '../simulation/model'

type Wrong<T> = (answer: T) => unknown

/** A store in memory whose answers are wrong while it is told so. */
class WrongStore implements ThrottleStore {
  report: Wrong<readonly Answer[]> | undefined
  beat: Wrong<Beat> | undefined
  reports = 0
  readonly #model = new StoreModel()
  readonly #server: StoreServer = {
    name: undefined,
    report: (_policy, process, reports) => this.#answer(process, reports),
    beat: () => {
      const beat = this.#model.beat('only', nowUs())
      return (this.beat ? this.beat(beat) : Promise.resolve(beat)) as Promise<Beat>
    },
  }

  #answer(process: string, reports: readonly Report[]): Promise<readonly Answer[]> {
    const answers = reports.map((report) => this.#model.report(process, report, nowUs()))
    this.reports += reports.length
    return (this.report ? this.report(answers) : Promise.resolve(answers)) as Promise<readonly Answer[]>
  }

  serverOf(_id: string): StoreServer {
    return this.#server
  }

  watch(): void {
    // its server never changes
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

const nowUs = () => Math.round((performance.timeOrigin + performance.now()) * 1_000)
const later = (answer: unknown) => Promise.resolve(answer)
const first = (change: (answer: Answer) => unknown) => (answers: readonly Answer[]) =>
  later(answers.map((answer, i) => (i === 0 ? change(answer) : answer)))
const figures = (wrong: object) => first((answer) => ({ ...answer, figures: { ...answer.figures, ...wrong } }))

const WRONG_ANSWERS: Record<string, [report: Wrong<readonly Answer[]>, warns: RegExp]> = {
  'fewer answers than reports': [
    () => later([]),
    /report\(\) must resolve to one answer for each report, \d+; received 0/,
  ],
  'more answers than reports': [
    (answers) => later([...answers, ...answers]),
    /one answer for each report, \d+; received/,
  ],
  nothing: [() => later(undefined), /one answer for each report, \d+; received undefined/],
  'an object': [() => later({ length: 1 }), /one answer for each report, \d+; received \{ length: 1 \}/],
  'no promise': [(answers) => answers, /report\(\) must return a promise; it returned \[/],
  'an answer that is null': [first(() => null), /an answer of report\(\) has a wrong time: undefined/],
  'a time that is no number': [first((answer) => ({ ...answer, time: NaN })), /wrong time: NaN/],
  'a status of its own': [first((answer) => ({ ...answer, status: 'ok' })), /wrong status: 'ok'/],
  'no seq found': [first(({ time }) => ({ time, status: 'late' })), /wrong found: undefined/],
  'a cause that is no text': [
    first(({ time }) => ({ time, status: 'unreadable', found: 0, cause: Symbol('why') })),
    /wrong cause: Symbol\(why\)/,
  ],
  'no figures': [first((answer) => ({ ...answer, figures: undefined })), /wrong figures\.used: undefined/],
  'a figure that is no number': [figures({ held: NaN }), /wrong figures\.held: NaN/],
  'a figure that is a text': [figures({ ahead: '0' }), /wrong figures\.ahead: '0'/],
  'a sum that is no number': [figures({ before: null }), /wrong figures\.before: null/],
  'a failure that is no text': [
    () => Promise.reject(Object.create(null) as Error),
    /does not answer: \[Object: null prototype\]/,
  ],
  'a failure at once': [
    () => {
      throw new Error('the pool is closed')
    },
    /does not answer: the pool is closed/,
  ],
  'nothing ever': [() => new Promise(() => undefined), /does not answer: no answer in 70 ms/],
}

const WRONG_BEATS: Record<string, [beat: Wrong<Beat>, warns: RegExp]> = {
  nothing: [() => later(undefined), /an answer of beat\(\) has a wrong time: undefined/],
  'no promise': [(beat) => beat, /beat\(\) must return a promise/],
  'a time that is no number': [(beat) => later({ ...beat, time: 'now' }), /wrong time: 'now'/],
  'a number of processes that is none': [(beat) => later({ ...beat, living: NaN }), /wrong living: NaN/],
  'a token that is no text': [(beat) => later({ ...beat, token: {} }), /wrong token: \{\}/],
}

async function api(t: TestContext) {
  const store = new WrongStore()
  const warnings: string[] = []
  const warned = (warning: Error & { code?: string }) =>
    void (warning.code === 'TOLLGATE_DEGRADED' && warnings.push(warning.message))
  process.on('warning', warned)
  t.after(() => process.off('warning', warned))
  const { ask, throttled } = await throttledApp(t, { limitMs: 1_000, windowMs: 86_400_000, store, grantAhead: false })
  const isDegraded = async () => (await throttled.usage('ada'))[0]?.degraded
  return { store, ask, isDegraded, warns: (what: RegExp) => warnings.some((message) => what.test(message)) }
}

describe('throttle() takes what is wrong in the answers of a store for an outage of it', { concurrency: 4 }, () => {
  for (const [name, [report, what]] of Object.entries(WRONG_ANSWERS))
    it(`report(): ${name}`, async (t) => {
      const { store, ask, isDegraded, warns } = await api(t)
      store.report = report
      const answers = await Promise.all(['ada', 'bob', 'cleo'].map((user) => ask(user)))
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 200],
        'each is decided by this process alone',
      )
      await until(() => warns(what))
      store.report = undefined
      await until(async () => (await isDegraded()) === false)
      await ask('ada', 1_500)
      await until(async () => (await ask('ada')).status === 429)
    })

  for (const [name, [beat, what]] of Object.entries(WRONG_BEATS))
    it(`beat(): ${name}`, async (t) => {
      const { store, ask, isDegraded, warns } = await api(t)
      store.beat = beat
      await until(() => warns(what))
      assert.equal((await ask('ada')).status, 200)
      store.beat = undefined
      await until(async () => (await isDegraded()) === false)
    })

  it('serverOf(): a failure, and no server', async (t) => {
    const { store, ask, isDegraded, warns } = await api(t)
    const own = store.serverOf.bind(store)
    store.serverOf = () => {
      throw new Error('no such shard')
    }
    assert.equal((await ask('ada')).status, 200)
    await until(() => warns(/does not answer: no such shard/))
    store.serverOf = () => undefined as unknown as StoreServer
    assert.equal((await ask('bob')).status, 200)
    store.serverOf = own
    await until(async () => (await isDegraded()) === false)
  })

  it('reportsPerCommand: no number of reports', async (t) => {
    const { store, ask } = await api(t)
    for (const reportsPerCommand of [0, -1, NaN, 0.5]) {
      Object.assign(store.serverOf(''), { reportsPerCommand })
      const before = store.reports
      assert.equal((await ask('ada')).status, 200)
      assert.ok(store.reports > before, `${reportsPerCommand}: the store was asked`)
    }
  })
})

describe('throttle() refuses a store', () => {
  it('whose serverOf() makes a new server each time, or none', () => {
    const server = () => ({
      name: undefined,
      report: () => Promise.resolve([]),
      beat: () => Promise.resolve({ time: 0 }),
    })
    for (const serverOf of [server, () => undefined as unknown as StoreServer, () => ({}) as StoreServer]) {
      const store = { serverOf, watch: () => undefined, close: () => Promise.resolve() }
      assert.throws(() => throttle({ store }), /^TypeError: store\.serverOf\(\) must return a server.*#tollgate_store/)
    }
  })
})

it('throttle().close() resolves though the store never takes in what was counted for advise()', async (t) => {
  const store = Object.assign(new WrongStore(), {
    addUsage: () => new Promise<void>(() => undefined),
    readUsage: () => Promise.resolve([]),
  })
  const { ask, throttled } = await throttledApp(t, { store })
  assert.equal((await ask('ada', 100)).status, 200)
  await throttled.close()
})
