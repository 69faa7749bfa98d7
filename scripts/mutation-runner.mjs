// Stryker's test runner for the specs of one group, all in one process: loading Express and the specs anew for each
// mutant would be most of the work. Stands in for node:test, of which these specs use describe, it, before and after.
// Tests run one at a time, those alone that reach the mutant. A mutant counts as killed only where the failing test
// passes without it, or failed in specs just loaded: what earlier mutants left behind proves nothing.
import { AsyncLocalStorage } from 'node:async_hooks'
import Module, { createRequire } from 'node:module'
import { join } from 'node:path'
import { GROUPS } from './mutation-groups.mjs'

/** A test waits for nothing when its process does next to nothing for so long. */
const TICK_MS = 500
const IDLE_TICKS = 4
/** A hook that a mutant keeps from ending. */
const HOOK_MS = 500

const require = createRequire(import.meta.url)
const { specs, typescript } = GROUPS[process.env.MUTATION_GROUP ?? 'claims']
const stryker = (globalThis.__stryker__ ??= {})
/** The test or suite that code belongs to. */
const owner = new AsyncLocalStorage()
let loaded

class SpecRunner {
  capabilities() {
    return { reloadEnvironment: true }
  }

  async init() {
    const load = Module._load
    Module._load = (name, ...rest) => (name === 'node:test' ? nodeTest : load(name, ...rest))
    for (const event of ['uncaughtException', 'unhandledRejection']) {
      process.on(event, (problem) => owner.getStore()?.fail?.(problem))
    }
    if (typescript) require('tsx/cjs')
  }

  async dryRun() {
    await reload()
    const tests = []
    for (const test of loaded.tests) tests.push(await run(test))
    return { status: 'complete', tests, mutantCoverage: stryker.mutantCoverage }
  }

  async mutantRun({ activeMutant: { id }, testFilter, mutantActivation, reloadEnvironment, hitLimit }) {
    const isStatic = mutantActivation === 'static'
    Object.assign(stryker, { hitLimit, hitCount: hitLimit === undefined ? undefined : 0 })
    const fresh = isStatic || reloadEnvironment || !loaded
    try {
      if (fresh) await reload(isStatic ? id : undefined)
      let failed = await firstFailure(testFilter, id)
      if (failed && !fresh && !(await passesWithout(failed))) {
        await reload()
        failed = await firstFailure(testFilter, id)
        if (failed) loaded = undefined
      }
      return failed
        ? { status: 'killed', killedBy: [failed.id], failureMessage: failed.failureMessage, nrOfTests: 1 }
        : { status: 'survived', nrOfTests: testFilter?.length ?? loaded.tests.length }
    } catch (problem) {
      loaded = undefined // the specs do not even load
      return { status: 'killed', killedBy: [], failureMessage: String(problem), nrOfTests: 0 }
    } finally {
      activate(undefined)
    }
  }
}

export const strykerPlugins = [{ kind: 'TestRunner', name: 'specs', injectableClass: SpecRunner }]

async function firstFailure(wanted, mutant) {
  activate(mutant)
  for (const test of loaded.tests) {
    if (wanted && !wanted.includes(test.id)) continue
    const result = await run(test)
    if (result.status !== 0) return result
  }
  return undefined
}

function activate(mutant) {
  stryker.activeMutant = mutant
  if (mutant === undefined) delete process.env.__STRYKER_ACTIVE_MUTANT__
  else process.env.__STRYKER_ACTIVE_MUTANT__ = mutant // read by child processes
}

async function passesWithout({ id }) {
  return (await firstFailure([id], undefined)) === undefined
}

/** Loads lib and specs anew, with a mutant where it counts while they load. */
async function reload(mutant) {
  activate(undefined)
  await runHooks(loaded?.after ?? [])
  activate(mutant)
  loaded = { tests: [], before: [], after: [], ids: new Set() }
  for (const spec of specs) {
    forgetModules()
    const loading = []
    owner.run({ name: spec, loading, after: loaded.after }, () =>
      require(join(process.cwd(), '.cache/js/spec/bearer', `${spec}.spec.js`)),
    )
    for (let body; (body = loading.shift());) await body // a suite's body may be asynchronous, and have suites in it
  }
  for (const hook of loaded.before) await hook()
}

/** Each spec has a lib of its own, as in a process of its own: what warns once warns once for each. */
function forgetModules() {
  const own = join(process.cwd(), '/')
  for (const file of Object.keys(require.cache)) {
    if (file.startsWith(own) && !file.includes('node_modules')) delete require.cache[file]
  }
}

const nodeTest = {
  describe(name, ...rest) {
    const suite = owner.getStore()
    suite.loading.push(owner.run({ ...suite, name: `${suite.name} ${name}` }, rest.at(-1)))
  },
  it(name, ...rest) {
    const full = `${owner.getStore().name} ${name}`
    let id = full
    for (let i = 2; loaded.ids.has(id); i++) id = `${full} (${i})`
    loaded.ids.add(id)
    loaded.tests.push({ id, fn: rest.at(-1) })
  },
  before: (fn) => void loaded.before.push(fn),
  after: (fn) => void owner.getStore().after.unshift(fn),
}

async function run({ id, fn }) {
  const startedAt = performance.now()
  const after = []
  const context = { name: id, after: (hook) => void after.push(hook), diagnostic() {} }
  let stop
  let failure
  stryker.currentTestId = id
  try {
    await new Promise((resolve, reject) => {
      stop = watch(reject)
      owner.run({ fail: reject, after }, async () => fn(context)).then(resolve, reject)
    })
  } catch (problem) {
    failure = String(problem)
  }
  stop()
  await runHooks(after)
  stryker.currentTestId = undefined
  const timeSpentMs = performance.now() - startedAt
  return { id, name: id, timeSpentMs, ...(failure ? { status: 1, failureMessage: failure } : { status: 0 }) }
}

async function runHooks(hooks) {
  for (const hook of hooks) {
    const ended = (async () => hook())().catch(() => {})
    let timer
    await Promise.race([ended, new Promise((resolve) => (timer = setTimeout(resolve, HOOK_MS)))])
    clearTimeout(timer)
  }
}

/** Fails a test that waits for nothing. A process without a share of a busy machine is none: its timers come late. */
function watch(fail) {
  let ticks = 0
  let last = { at: performance.now(), cpu: process.cpuUsage() }
  const idle = setInterval(() => {
    const now = { at: performance.now(), cpu: process.cpuUsage() }
    const spentMs = (now.cpu.user + now.cpu.system - last.cpu.user - last.cpu.system) / 1_000
    ticks = spentMs < 25 && now.at - last.at < 1.2 * TICK_MS ? ticks + 1 : 0
    last = now
    if (ticks === IDLE_TICKS) fail(new Error('waits for nothing'))
  }, TICK_MS)
  return () => clearInterval(idle)
}
