import type { Complete } from '../../http/options'
import { hashOf } from '../../http/secret'
import type { Records } from './records'

/** How many logins may fail before an account, an address or a device has to wait. */
export interface LoginLimits {
  /**
   * Failures per account, 1 to 10,000. A device on which the user has signed in before has a counter of its own with
   * the same limit. All such devices of an account together may fail five times as often. Default 10.
   */
  readonly perAccount?: number | undefined
  /** Failures per address, 1 to 1,000,000; an IPv6 address counts by its /56. Default 100. */
  readonly perAddress?: number | undefined
  /** Seconds from the first failure until the counter resets, 1 to 86,400. Default 900. */
  readonly windowSec?: number | undefined
}

/**
 * Failures of all known devices of an account, as a multiple of `perAccount`. Without this bound an attacker could
 * collect device cookies and guess with each.
 */
const DEVICES = 5

/** The source of a login attempt. */
export interface LoginSource {
  /** Names the account: the same for every spelling that finds it. */
  readonly account: string
  /** Whether there is such an account: anybody can type other names. */
  readonly isKnown: boolean
  /** The client's network, as `clientNetwork()` has it. */
  readonly network: string
  /** The device, if this user signed in from it before. Neither account nor address are counted then. */
  readonly deviceId: string | undefined
}

/**
 * Counts failed logins. An attempt is counted before the password is checked and taken back if it was right, so that
 * parallel guesses get no further than one after another. Unknown names are counted like known ones.
 */
export class LoginAttempts {
  private readonly windowMs: number

  constructor(
    private readonly records: Records,
    private readonly limits: Complete<LoginLimits>,
  ) {
    this.windowMs = limits.windowSec * 1_000
  }

  /** Counts an attempt. Returns the milliseconds to wait if there were too many, else 0. */
  async begin(source: LoginSource): Promise<number> {
    for (const [id, limit, isStrangers] of this.counters(source)) {
      const { total, endsInMs } = await this.records.count('attempts', id, 1, this.windowMs, isStrangers)
      if (total > limit) return endsInMs
    }
    return 0
  }

  /**
   * Takes an attempt back: the password was right, or was not checked.
   *
   * @param butAddress leaves that of the address
   */
  async takeBack(source: LoginSource, butAddress = false): Promise<void> {
    const counters = this.counters(source).filter(([id]) => !(butAddress && id.startsWith('address.')))
    await Promise.all(counters.map(([id]) => this.records.count('attempts', id, -1, this.windowMs)))
  }

  /** `isStrangers`: anybody can cause such a counter. */
  private counters({
    account,
    isKnown,
    network,
    deviceId,
  }: LoginSource): [id: string, limit: number, isStrangers: boolean][] {
    const { perAccount, perAddress } = this.limits
    if (deviceId !== undefined) {
      return [
        [`device.${deviceId}`, perAccount, false],
        [`devices.${hashOf(account)}`, DEVICES * perAccount, false],
      ]
    }
    return [
      [`address.${hashOf(network)}`, perAddress, true],
      [`account.${hashOf(account)}`, perAccount, !isKnown],
    ]
  }
}
