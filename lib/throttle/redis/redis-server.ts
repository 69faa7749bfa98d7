import type { RedisConnection } from '../../redis/redis-connection'
import { script } from '../../redis/script'
import { type Answer, GRACE_US, LEASE_US, type Report, TICK_US } from '../budget/report'
import type { RefusalsMessage } from '../refusals'
import type { Beat, StoreServer } from '../store/store'
import { beatLua, syncLua } from './assets'
import { LIVING_MS, ONLY_TAG, livingKey, packReports, readAnswers, shortName, windowKey } from './record'
import { packRefusals, refusalsKey } from './refusals-record'

const SYNC = script(syncLua)
const BEAT = script(beatLua)
/** The keys of heartbeats expire this long after the last one. */
const KEPT_MS = 60_000
const TOGETHER = 100
const TERMS = [LEASE_US, GRACE_US, GRACE_US + TICK_US]

/** Parts that all keys of a process share. */
export interface Keys {
  /** Begins every key. */
  readonly prefix: string
  /** Name of this process in the list of live processes. */
  readonly process: string
  /** A window's hash keeps its subject's name. */
  readonly keepSubjects: boolean
  /** The longest wait of a request for an answer. */
  readonly deadlineMs: number
}

/** One server, as a connection reaches it: a plain one, or a Cluster's master. */
export abstract class RedisServer implements StoreServer {
  reportsPerCommand = TOGETHER

  constructor(
    protected readonly redis: RedisConnection,
    protected readonly keys: Keys,
    readonly name: string | undefined,
  ) {}

  /** Where it is: `host:port`. */
  get place(): string {
    return this.name ?? this.redis.server
  }

  async report(process: string, reports: readonly Report[]): Promise<readonly Answer[]> {
    const { prefix, keepSubjects } = this.keys
    const keys = reports.map(({ account: { id, terms } }) => windowKey(prefix, id, terms.windowUs, terms.policy))
    let packed: Buffer
    try {
      packed = packReports(reports)
    } catch (err) {
      if (reports.length > 1) return this.#eachAlone(process, reports)
      return [{ time: 0, status: 'unreadable', found: 0, cause: `${keys[0]}: ${(err as Error).message}` }]
    }
    const args = [process, packed, ...TERMS, ...(keepSubjects ? namesIn(reports) : [])]
    try {
      return readAnswers(keys, await this.redis.runForBytes(SYNC, keys, args))
    } catch (err) {
      if (reports.length === 1 || !isCrossSlot(err)) throw err
      this.reportsPerCommand = 1
      return this.#eachAlone(process, reports)
    }
  }

  async #eachAlone(process: string, reports: readonly Report[]): Promise<readonly Answer[]> {
    const answers = await Promise.all(reports.map((report) => this.report(process, [report])))
    return answers.flat()
  }

  async beat(refusals?: RefusalsMessage, terms: readonly string[] = []): Promise<Beat> {
    const { prefix, process } = this.keys
    const tag = this.beatTag()
    const keys = [
      livingKey(prefix, tag),
      `${prefix}canary:{${tag}}`,
      refusalsKey(prefix, tag),
      `${prefix}terms:{${tag}}`,
    ]
    const says = refusals === undefined ? '' : packRefusals(refusals)
    const reply = await this.redis.run(BEAT, keys, [process, LIVING_MS, KEPT_MS, says, ...terms])
    const [time, living, token, others] = reply as [string, number, string, string[]]
    return { time: Number(time), living, token: String(token), terms: others }
  }

  /** In the keys of a heartbeat, so that this server keeps them all. */
  protected abstract beatTag(): string
}

/** The one server of a plain connection, or the primary that the sentinels name. */
export class OnlyRedisServer extends RedisServer {
  protected beatTag(): string {
    return ONLY_TAG // behind one address there may be several servers
  }
}

/** For each report the name to keep: until the first of a window was answered, as after a loss of data. */
function namesIn(reports: readonly Report[]): string[] {
  return reports.map(({ account }) => (account.stored === 0 ? shortName(account.subject) : ''))
}

/** What looks like one server is several, and shares the keys out among them. */
function isCrossSlot(err: unknown): boolean {
  return err instanceof Error && err.message.startsWith('CROSSSLOT')
}
