import { ServerAdvice, type ServerInfo } from './server-advice'

/** Watches by INFO whether one server may have lost what it was told though the connection to it stayed. */
export class ServerWatch {
  readonly #server: ServerInfo
  readonly #advice: ServerAdvice | undefined
  #runId = ''
  #evicted = 0

  /** @param warns says where the server may lose windows */
  constructor(server: ServerInfo, warns: boolean) {
    this.#server = server
    this.#advice = warns ? new ServerAdvice(server) : undefined
  }

  /**
   * Whether it is the server it was, and has evicted nothing since. Behind a proxy another server may answer; and one
   * that evicts keys may have thrown windows away though it kept the canary. A user may be denied INFO: then yes.
   *
   * @param longestUs the longest window so far, in microseconds
   */
  async isSame(longestUs: number): Promise<boolean> {
    const [server, stats] = await Promise.all(
      ['server', 'stats'].map((section) => this.#server.call('INFO', section).catch(() => '')),
    )
    const runId = /run_id:(\w+)/.exec(String(server))?.[1]
    if (runId === undefined) return true
    void this.#advice?.look(longestUs)
    const evicted = Number(/evicted_keys:(\d+)/.exec(String(stats))?.[1] ?? 0)
    const same = this.#runId === '' || (this.#runId === runId && evicted <= this.#evicted)
    this.#runId = runId
    this.#evicted = evicted
    return same
  }
}
