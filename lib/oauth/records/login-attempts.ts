import { systemClock } from '../../http/clock'
import type { Complete } from '../../http/options'
import { hashOf } from '../../http/secret'
import { DirectoryBusyError } from '../directories/hash-slots'
import { type Owner, ofStranger, ofUser } from './owners'
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
  /** Names the account: the same for every spelling that finds it, another one after `revokeUser()`. */
  readonly account: string
  /** Whether there is such an account: anybody can type other names. */
  readonly isKnown: boolean
  /** The client's network, as `clientNetwork()` has it. */
  readonly network: string
  /** The device, if this user signed in from it before. Neither account nor address are counted then. */
  readonly deviceId: string | undefined
}

type Counter = readonly [id: string, limit: number, owner: Owner]

/** What an attempt under way adds to a counter. A failure adds 1. */
const UNDER_WAY = 2 ** 30
/** Waits before an attempt for which others have taken every place is tried again: up to 5 s together. */
const [FIRST_WAIT_MS, MOST_TRIES] = [20, 20]

/**
 * Counts failed logins. An attempt takes a place among the failures that are left before the password is checked, so that
 * parallel guesses get no further than one after another. It counts once it has failed: while others have all places, an
 * attempt waits. Unknown names are counted like known ones.
 */
export class LoginAttempts {
  private readonly windowMs: number

  constructor(
    private readonly records: Records,
    private readonly limits: Complete<LoginLimits>,
  ) {
    this.windowMs = limits.windowSec * 1_000
  }

  /**
   * Begins an attempt. Returns the milliseconds to wait if too many have failed, else 0: it then needs an `end()`.
   *
   * @throws {DirectoryBusyError} if there were too many at once, whose passwords are still being checked
   */
  async begin(source: LoginSource): Promise<number> {
    for (let tries = 1; tries <= MOST_TRIES; tries++) {
      const lockedMs = await this.take(this.counters(source))
      if (lockedMs !== undefined) return lockedMs
      await new Promise<void>((resolve) => systemClock.after(FIRST_WAIT_MS * tries, resolve))
    }
    throw new DirectoryBusyError(1)
  }

  /** Ends an attempt that `begin()` let in. */
  end(source: LoginSource, hasFailed: boolean): Promise<void> {
    return this.add(this.counters(source), (hasFailed ? 1 : 0) - UNDER_WAY)
  }

  /** Takes a place in each counter, or in none. Returns how long failures take all places, 0 for none, undefined: others do. */
  private async take(counters: readonly Counter[]): Promise<number | undefined> {
    for (const [at, [id, limit, owner]] of counters.entries()) {
      const { total, endsInMs } = await this.records.count('attempts', id, UNDER_WAY, this.windowMs, owner)
      const underWay = Math.floor(total / UNDER_WAY)
      const failed = total - underWay * UNDER_WAY
      if (failed + underWay <= limit) continue
      await this.add(counters.slice(0, at + 1), -UNDER_WAY)
      return failed >= limit ? endsInMs : undefined
    }
    return 0
  }

  private async add(counters: readonly Counter[], by: number): Promise<void> {
    await Promise.all(counters.map(([id, , owner]) => this.records.count('attempts', id, by, this.windowMs, owner)))
  }

  private counters({ account, isKnown, network, deviceId }: LoginSource): readonly Counter[] {
    const { perAccount, perAddress } = this.limits
    const user = ofUser(account)
    if (deviceId !== undefined) {
      return [
        [`device.${deviceId}`, perAccount, user],
        [`devices.${hashOf(account)}`, DEVICES * perAccount, user],
      ]
    }
    return [
      [`address.${hashOf(network)}`, perAddress, ofStranger()],
      [`account.${hashOf(account)}`, perAccount, isKnown ? user : ofStranger()],
    ]
  }
}
