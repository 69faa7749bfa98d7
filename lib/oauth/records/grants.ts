import type { Clock } from '../../http/clock'
import { hashOf } from '../../http/secret'
import type { Authorization } from './authorizations'
import { ofUser } from './owners'
import type { Records } from './records'
import type { GrantOfUser, RevocationRecords } from './revocation-records'

/** A grant, or a website session, as it is listed, by user. */
export interface ListedGrant {
  /** Of a session: {@link WEBSITE}. */
  readonly clientId: string
  readonly grantId: string
  /** The website session in which the user gave it. */
  readonly sid?: string | undefined
  /** Places of its records in the store: of the code, of the refresh tokens, or of the session. */
  readonly places: readonly (readonly ['code' | 'refresh' | 'session', string])[]
  /** When it is listed no more unless it is used, in milliseconds since 1970. */
  readonly untilMs: number
}

/** Stands for an app in the entries of website sessions. */
export const WEBSITE = ''

/** Grants of a user to one app or sessions, and all of them. Beyond these, the one that was used longest ago ends. */
const [MOST_OF_APP, MOST] = [32, 256]
/** A grant that is used is listed anew at most this often, or twice in a lifetime. */
const RENEWED_AFTER_MS = 24 * 60 * 60_000

/** The grants and sessions of each user that may be good, the last one used first: their number is bounded, and apps hear of a sign-out. */
export class Grants {
  /** @param lifetimeMs of a grant that is not used */
  constructor(
    private readonly records: Records,
    private readonly revocations: RevocationRecords,
    private readonly clock: Clock,
    private readonly lifetimeMs: number,
  ) {}

  async of(userId: string): Promise<readonly ListedGrant[]> {
    const grants = (await this.records.get<readonly ListedGrant[]>('grants', hashOf(userId))) ?? []
    return grants.filter(({ untilMs }) => untilMs > this.clock.date())
  }

  /** Lists a grant as the last one used. */
  async use(
    { userId, clientId, grantId, sid }: GrantOfUser & Pick<Authorization, 'sid'>,
    places: ListedGrant['places'] = [],
    lifetimeMs = this.lifetimeMs,
  ): Promise<void> {
    const untilMs = this.clock.date() + lifetimeMs
    const isNew = (one: ListedGrant) => one.untilMs > untilMs - Math.min(RENEWED_AFTER_MS, lifetimeMs / 2)
    // Another process may write the list at the same moment. What it left out is added again.
    for (let tries = 0; tries < 5; tries++) {
      const before = await this.of(userId)
      const known = before.find((one) => one.grantId === grantId)
      if (known && isNew(known) && known.places.length >= places.length) return
      const listed = places.length > 0 ? places : (known?.places ?? [])
      const all = [
        { clientId, grantId, sid, ...known, places: listed, untilMs },
        ...before.filter((one) => one !== known),
      ]
      const isOver = (one: ListedGrant) =>
        all.filter((other) => other.clientId === one.clientId).indexOf(one) >= MOST_OF_APP
      const kept = all.filter((one) => !isOver(one)).slice(0, MOST)
      await this.list(userId, kept)
      await Promise.all(all.filter((one) => !kept.includes(one)).map((one) => this.end(userId, one)))
    }
  }

  /** Lists a session no more, which has ended. */
  async leave(userId: string, key: string): Promise<void> {
    const before = await this.of(userId)
    const left = before.filter(({ grantId }) => grantId !== key)
    if (left.length < before.length) await this.list(userId, left)
  }

  private list(userId: string, grants: readonly ListedGrant[]): Promise<void> {
    return this.records.set('grants', hashOf(userId), grants, this.lifetimeMs, ofUser(userId))
  }

  /** Ends what there is no room for, and leaves no record of it once its access tokens have expired. */
  private async end(userId: string, { clientId, grantId, places }: ListedGrant): Promise<void> {
    if (clientId !== WEBSITE) await this.revocations.evict({ userId, clientId, grantId })
    await Promise.all(places.map(([kind, id]) => this.records.drop(kind, id)))
  }
}
