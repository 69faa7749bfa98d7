import { Session } from 'node:inspector'
import { setFlagsFromString } from 'node:v8'

// Optimized functions, and those that the garbage collector takes out of memory, lose their counters.
for (const flag of [
  '--no-opt',
  '--no-maglev',
  '--no-sparkplug',
  '--no-flush-bytecode',
  '--no-lazy-feedback-allocation',
]) {
  setFlagsFromString(flag)
}

/** What a call costs, counted: blocks of lib/ that ran, and bytes that were allocated, such as by copies of a growing list. */
export interface Work {
  readonly blocks: number
  readonly bytes: number
}

const session = new Session()
session.connect()
send('Profiler.enable')
send('Profiler.startPreciseCoverage', { callCount: true, detailed: true })

/** Counts the work of a call that is synchronous, at its second time: what is done once is not counted. */
export function workOf(call: () => unknown): Work {
  call()
  send('Profiler.takePreciseCoverage')
  call()
  const { result } = send<{ result: readonly Script[] }>('Profiler.takePreciseCoverage')
  const everything = { includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true }
  send('HeapProfiler.startSampling', { samplingInterval: 64, ...everything })
  call()
  const { profile } = send<{ profile: { head: HeapNode } }>('HeapProfiler.stopSampling')
  const ranges = result
    .filter(({ url }) => url.includes('/lib/'))
    .flatMap(({ functions }) => functions.flatMap((one) => one.ranges))
  return { blocks: ranges.reduce((sum, { count }) => sum + count, 0), bytes: bytesOf(profile.head) }
}

/** Commands of these domains answer at once. */
function send<T>(command: string, params: object = {}): T {
  let answer: unknown
  const post = session.post.bind(session) as (method: string, params: object, then: Answer) => void
  post(command, params, (err, result) => {
    if (err) throw new Error(`${command}: ${err.message}`)
    answer = result
  })
  return answer as T
}

type Answer = (err: Error | null, result: unknown) => void

interface HeapNode {
  readonly selfSize: number
  readonly children: readonly HeapNode[]
}

interface Script {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[]
}

function bytesOf({ selfSize, children }: HeapNode): number {
  return children.reduce((sum, child) => sum + bytesOf(child), selfSize)
}
