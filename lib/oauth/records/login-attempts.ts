import { addressGroup } from '../address-group'
import { hashOf } from '../../http/secret'
import type { Records } from './records'

/** How many logins may fail before an account or an address has to wait. */
export interface LoginLimits {
  /** Failures per account, 1 to 10,000. Default 10. */
  readonly perAccount: number
  /** Failures per address, 1 to 1,000,000; an IPv6 address counts by its /56. Default 100. */
  readonly perAddress: number
  /** From the first failure until all are forgotten: seconds, 1 to 86,400. Default 900. */
  readonly windowSec: number
}

/**
 * Counts failed logins. An attempt is counted before the password is checked and taken back when it was right, so that
 * many at once get no further than one after the other. Accounts that do not exist are counted like those that do.
 */
export class LoginAttempts {
  readonly #records: Records
  readonly #limits: LoginLimits
  readonly #windowMs: number

  constructor(records: Records, limits: LoginLimits) {
    this.#records = records
    this.#limits = limits
    this.#windowMs = limits.windowSec * 1_000
  }

  /** Counts an attempt. Returns for how many milliseconds to wait where there have been too many, else 0. */
  async begin(username: string, ip: string): Promise<number> {
    const [accountId, addressId] = ids(username, ip)
    const address = await this.#records.count('attempts', addressId, 1, this.#windowMs)
    if (address.total > this.#limits.perAddress) return address.endsInMs
    const account = await this.#records.count('attempts', accountId, 1, this.#windowMs)
    return account.total > this.#limits.perAccount ? account.endsInMs : 0
  }

  /** Takes an attempt back: it was the user. */
  async succeeded(username: string, ip: string): Promise<void> {
    await Promise.all(ids(username, ip).map((id) => this.#records.count('attempts', id, -1, this.#windowMs)))
  }
}

function ids(username: string, ip: string): [account: string, address: string] {
  const name = username.trim().normalize('NFKC').toLowerCase()
  return [`account.${hashOf(name)}`, `address.${hashOf(addressGroup(ip))}`]
}
