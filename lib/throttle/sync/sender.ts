import { type Clock, nowUs } from '../../http/clock'
import type { Account } from '../account/account'
import type { ServerHealth } from './health'
import type { Sent } from './report'
import type { Answer } from './store'
import { callStore, deadline, wrongAnswers } from './store-calls'

/** Reports in one command. */
export const TOGETHER = 100
/** While so many commands are under way to a server, what comes goes in one more; one this full goes all the same. */
const UNDER_WAY = 2
const FULL = 16

/** One command: the reports of some accounts to one server. */
export interface Command {
  readonly server: ServerHealth
  readonly accounts: readonly Account[]
  readonly sent: readonly Sent[]
}

/** Makes the reports, and hears what becomes of them. */
export interface Sending {
  /** The account's report as it is now. */
  reportOf(account: Account, now: number): Sent
  report(command: Command): Promise<readonly Answer[]>
  answered(command: Command, answers: readonly Answer[]): void
  /** It failed, or was not answered in time. An answer may come all the same. */
  failed(command: Command, cause: unknown): void
}

/** What is to be sent to one server. */
interface Outgoing {
  readonly due: Set<Account>
  underWay: number
  isDue: boolean
}

/** Sends reports: those of one turn of the event loop together, and few commands at a time. */
export class Sender {
  readonly #sending: Sending
  readonly #clock: Clock
  readonly #outgoing = new Map<ServerHealth, Outgoing>()
  #underWay = 0
  #onQuiet: (() => void) | undefined
  #isClosed = false

  constructor(sending: Sending, clock: Clock) {
    this.#sending = sending
    this.#clock = clock
  }

  /**
   * Sends the account's report in this turn of the event loop, with all others that are due.
   *
   * @param full how many reports go without waiting for the end of the turn
   */
  add(account: Account, server: ServerHealth, full = FULL): void {
    let outgoing = this.#outgoing.get(server)
    if (outgoing === undefined) {
      this.#outgoing.set(server, (outgoing = { due: new Set(), underWay: 0, isDue: false }))
    }
    outgoing.due.add(account)
    if (outgoing.due.size >= full) this.#flush(server, outgoing)
    else if (!outgoing.isDue) {
      outgoing.isDue = true
      this.#clock.after(0, () => {
        outgoing.isDue = false
        if (outgoing.underWay < UNDER_WAY) this.#flush(server, outgoing)
      })
    }
  }

  /** When all commands were answered, or have had the time. */
  quiet(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        cancel()
        this.#onQuiet = undefined
        resolve()
      }
      const cancel = deadline(this.#clock, done)
      this.#onQuiet = done
    })
  }

  /** Sends nothing any more. */
  close(): void {
    this.#isClosed = true
  }

  #flush(server: ServerHealth, outgoing: Outgoing): void {
    if (this.#isClosed) return
    const { reportsPerCommand = TOGETHER } = server.server
    const most = Math.min(TOGETHER, Math.max(1, Math.floor(reportsPerCommand) || TOGETHER))
    const due = [...outgoing.due].filter(({ sent, isEvicted }) => sent === undefined && !isEvicted)
    outgoing.due.clear()
    for (let i = 0; i < due.length; i += most) this.#send(server, outgoing, due.slice(i, i + most))
  }

  #send(server: ServerHealth, outgoing: Outgoing, accounts: readonly Account[]): void {
    const now = nowUs(this.#clock)
    const command = { server, accounts, sent: accounts.map((account) => this.#sending.reportOf(account, now)) }
    outgoing.underWay++
    this.#underWay++
    let isUnderWay = true
    const over = () => {
      cancel()
      if (!isUnderWay) return
      isUnderWay = false
      outgoing.underWay--
      this.#underWay--
    }
    const failed = (err: unknown) => {
      over()
      this.#sending.failed(command, err)
      this.#after(server, outgoing)
    }
    const cancel = deadline(this.#clock, () => failed(new Error('no answer in 70 ms'))) // an answer may never come
    callStore('report', () => this.#sending.report(command)).then((answers) => {
      const wrong = wrongAnswers(answers, accounts.length)
      if (wrong !== undefined) return failed(wrong)
      over()
      this.#sending.answered(command, answers)
      this.#after(server, outgoing)
    }, failed)
  }

  #after(server: ServerHealth, outgoing: Outgoing): void {
    if (outgoing.due.size > 0 && !outgoing.isDue && outgoing.underWay < UNDER_WAY) this.#flush(server, outgoing)
    if (this.#underWay === 0) this.#onQuiet?.()
  }
}
