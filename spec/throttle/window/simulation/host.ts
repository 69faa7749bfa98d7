import { Calendar } from '../../../../lib/throttle/window/calendar'
import { Engine } from '../../../../lib/throttle/window/engine'
import { type Answers, command, giveUp, take } from '../../../../lib/throttle/sync/sync-protocol'
import { type Decision, type SubjectWindow, type Ticket, accrued } from '../../../../lib/throttle/window/subject-window'
import { StoreClock } from '../../../../lib/throttle/window/store-clock'
import { type Field, syncModel } from './model'

/** What the simulator in ../shared/protocol brings: see run.js and core.js there. */
interface SimProcess {
  id: string
  dead: boolean
  sim: { now: number; r: () => number }
  redis: SimRedis
  local(): number
  timer(us: number, fn: () => void): unknown
  send<T>(exec: () => T, cb: (reply: T) => void): void
}
interface SimRedis {
  runId: number
  time(): number
  get(key: string): { f: Map<string, Field>; seq?: number } | null
  set(key: string, value: unknown): void
  onShrink?(id: string, was: number, is: number): void
}
interface SimOptions {
  limit: number
  W: number
  F: number
  deadline: number
  wallErr?: number
  phase?: number
  noHb?: boolean
  sweep?: boolean
}
interface Refused {
  ra: number
  e: number
  known: boolean
  down: boolean
}
interface Handle {
  t: number
  est: number
  a: Ticket
}

const T0 = 1.7e15

/** The shell round the real engine in the simulator, as SharedWindow and StoreLink are in a real process. */
export class Host {
  readonly log: { k: string; e: number; spent: number }[] = []
  readonly stat = { sync: 0, admit: 0, refuse: 0, memRefuse: 0, memAdmit: 0 }
  readonly e: Engine
  readonly #shard: { readonly clock: StoreClock; isDown: boolean }
  readonly #windowUs: number
  #limit: number
  #heard = false
  #ticking = false
  #run = 0
  #beats = 0
  #beatsHeard = 0
  #later = new Set<SubjectWindow>()

  constructor(
    readonly p: SimProcess,
    readonly o: SimOptions,
  ) {
    this.#windowUs = o.W * 1000
    this.#limit = o.limit
    const wallError = (p.sim.r() * 2 - 1) * (o.wallErr ?? 3e5)
    this.#shard = { clock: new StoreClock(T0 + p.sim.now - p.local() + wallError, 1e6), isDown: false }
    const calendar = new RecordedCalendar(this.#windowUs, this.log)
    const identify = (subject: string) => this.#identify(subject)
    this.e = new Engine({ calendar, freshUs: o.F, shared: true, identify, shardOf: () => this.#shard })
    if (!o.noHb) this.#beat()
  }

  #identify(subject: string): { id: string; phase: number } {
    if (this.o.phase === 0) return { id: subject, phase: (this.#windowUs - (T0 % this.#windowUs)) % this.#windowUs }
    let hash = 2166136261
    for (const c of subject) hash = Math.imul(hash ^ c.charCodeAt(0), 16777619) >>> 0
    return { id: subject, phase: hash % this.#windowUs }
  }

  set L(limit: number) {
    this.#limit = limit
  }
  get L(): number {
    return this.#limit
  }
  us(): number {
    return Math.round(this.p.local())
  }

  admit(subject: string, estimate: number, cb: (h: Handle | null, refused?: Refused) => void): void {
    const verdict = this.e.admit(subject, estimate < 0 ? undefined : estimate, this.#limit, this.us())
    this.#arm()
    const decided = (d: Decision) =>
      'ticket' in d ? cb(this.#admitted(d.ticket)) : cb(null, this.#refused(subject, d))
    if (!('waiter' in verdict)) {
      this.stat['ticket' in verdict ? 'memAdmit' : 'memRefuse']++
      return decided(verdict)
    }
    const { waiter } = verdict
    const s = waiter.standing
    waiter.listener = { gone: false, decided }
    this.p.timer(this.o.deadline, () => {
      if (!this.p.dead && s.waiting.includes(waiter)) this.#giveUp(s)
    })
    if (!s.sent && !this.#later.has(s)) this.#sync(s)
  }
  #admitted(ticket: Ticket): Handle {
    this.stat.admit++
    return { t: ticket.start, est: ticket.cost, a: ticket }
  }
  #refused(subject: string, { refusal }: { refusal: { retryAfterUs: number } }): Refused {
    this.stat.refuse++
    const e = this.e.calendar.end(this.e.roster.active.get(subject) as SubjectWindow) / 1000
    return { ra: Math.max(1, Math.ceil(refusal.retryAfterUs / 1e6)), e, known: this.#heard, down: this.#shard.isDown }
  }

  settle(h: Handle): void {
    if (this.e.settle(h.a, this.us())) this.#publish(h.a.standing)
    this.#arm()
  }

  #publish(s: SubjectWindow): void {
    if (s.sent || this.#later.has(s)) s.urgent = true
    else this.#sync(s)
  }

  #sync(s: SubjectWindow): void {
    this.stat.sync++
    const asked = command(this.e, s, this.us())
    const sent = s.sent
    if (!sent) return
    this.p.send(
      () => onRedis(this.p.redis, this.p.id, asked),
      (reply) => {
        if (this.p.dead) return
        this.#heard = true
        if (this.#shard.isDown) this.#up()
        const { answers, againInUs } = take(this.e, s, sent, reply, this.us())
        this.#answer(answers)
        if (againInUs === undefined || s.sent || this.#later.has(s)) return
        if (againInUs === 0) return this.#sync(s)
        this.#later.add(s)
        this.p.timer(againInUs + 100, () => {
          this.#later.delete(s)
          if (!this.p.dead && !s.sent) this.#sync(s)
        })
      },
    )
    this.p.timer(this.o.deadline, () => {
      if (!this.p.dead && s.sent === sent) this.#giveUp(s)
    })
  }
  #giveUp(s: SubjectWindow): void {
    this.#shard.isDown = true
    this.#answer(giveUp(this.e, s, this.us()))
  }
  #up(): void {
    this.#shard.isDown = false
    this.onReady()
  }
  #answer(answers: Answers): void {
    for (const [waiter, decision] of answers) waiter.listener?.decided(decision)
    this.#arm()
  }

  #arm(): void {
    if (this.#ticking || !this.e.busy) return
    this.#ticking = true
    this.p.timer(this.o.F / 2, () => {
      this.#ticking = false
      if (this.p.dead) return
      for (const s of this.e.tick(this.us())) if (!this.#later.has(s)) this.#sync(s)
      this.#arm()
    })
  }

  onReady(): void {
    this.e.republish(this.#shard, this.us())
    this.#arm()
  }

  #beat(): void {
    if (this.p.dead) return
    const beat = ++this.#beats
    const { redis } = this.p
    const key = `canary:${this.p.id}`
    const at = this.us()
    this.p.send(
      () => {
        const found = redis.get(key)?.seq ?? 0
        if (found < beat) {
          const exp = Math.floor(redis.time() / 1000) + 60000
          redis.set(key, { seq: beat, f: new Map(), e: 0, exp })
        }
        return { found, run: redis.runId, time: redis.time() }
      },
      ({ found, run, time }) => {
        if (this.p.dead) return
        this.#heard = true
        this.#shard.clock.learn(at, this.us(), time)
        const lost = (this.#run !== 0 && this.#run !== run) || (found < this.#beatsHeard && this.#beatsHeard < beat)
        if (lost || this.#shard.isDown) this.#up()
        this.#run = run
        this.#beatsHeard = Math.max(beat, this.#beatsHeard)
      },
    )
    this.p.timer(1e6, () => this.#beat())
  }

  totals(): { k: string; e: number; spent: number }[] {
    const now = this.us()
    return [...this.e.roster.active.values()].map((s) => ({
      k: s.subject,
      spent: s.spent + accrued(s, now),
      e: this.e.calendar.end(s) / 1000,
    }))
  }
}

/** Notes what each window came to when it was left. */
class RecordedCalendar extends Calendar {
  constructor(
    windowUs: number,
    readonly log: { k: string; e: number; spent: number }[],
  ) {
    super(windowUs)
  }

  override roll(s: SubjectWindow, now: number, number: number = this.number(s, now)): boolean {
    let rolled = false
    while (s.number < number) {
      const boundary = Math.min(now, Math.max(s.touched, s.shard.clock.local(this.end(s))))
      this.log.push({ k: s.subject, e: this.end(s) / 1000, spent: s.spent + accrued(s, boundary) })
      super.roll(s, now, s.running > 0 ? s.number + 1 : number)
      rolled = true
    }
    return rolled
  }
}

function onRedis(redis: SimRedis, id: string, c: ReturnType<typeof command>): ReturnType<typeof syncModel> {
  const key = `${c.id}/${c.number}`
  const fields = new Map(redis.get(key)?.f ?? [])
  const was = fields.get(id)?.spent
  const reply = syncModel(fields, redis.time(), id, c)
  if (!reply.written) return reply
  if (was !== undefined && was > c.spent) redis.onShrink?.(id, was, c.spent)
  redis.set(key, { e: c.end / 1000, f: fields, exp: c.end / 1000, k: c.id })
  return reply
}
