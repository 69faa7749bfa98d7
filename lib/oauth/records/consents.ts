import type { Clock } from '../../http/clock'
import { hashOf } from '../../http/secret'
import { ofUser } from './owners'
import type { Records } from './records'
import { APPROVED_MS, type RevocationRecords, appOf } from './revocation-records'

/** What an app asks a user to approve. */
export interface ApprovalRequest {
  readonly userId: string
  readonly clientId: string
  /** The app's name at that time, for the list. */
  readonly name: string
  readonly scope: readonly string[]
  /** Where the code goes: `app.example.com`, `localhost` or `com.example.app:`. */
  readonly host: string
}

/** An app that a user approved. */
export interface ApprovedApp {
  readonly clientId: string
  readonly name: string
  readonly hosts: readonly string[]
  readonly scope: readonly string[]
  /** When the user approved it first. */
  readonly since: Date
}

/** As kept, by user and app. `mark` is the user's at that time: `revokeUser()` ends the approval. */
interface Approval extends Omit<ApprovedApp, 'clientId' | 'since'> {
  readonly sinceMs: number
  readonly mark?: string
}

const DAY_MS = 24 * 60 * 60_000
/** A user who accepted a version of the terms is not asked again for this long. */
const ACCEPTED_MS = 400 * DAY_MS
/** Apps that a user's list has. Older ones stay approved, and are listed no more. */
const MOST_LISTED = 200

/** What users agreed to: the terms of access, by version, and the apps that may act for them. */
export class Consents {
  constructor(
    private readonly records: Records,
    private readonly revocations: RevocationRecords,
    private readonly clock: Clock,
  ) {}

  acceptTerms(userId: string, version: string): Promise<void> {
    return this.records.set('terms', hashOf(`${version}\n${userId}`), 1, ACCEPTED_MS, ofUser(userId))
  }

  async hasAcceptedTerms(userId: string, version: string): Promise<boolean> {
    return (await this.records.get('terms', hashOf(`${version}\n${userId}`))) !== undefined
  }

  /** Adds to what the user approved for the app before. */
  async approve({ userId, clientId, name, scope, host }: ApprovalRequest): Promise<void> {
    const before = await this.find(userId, clientId)
    const mark = await this.revocations.markOf(userId)
    const approval: Approval = {
      name,
      scope: [...new Set([...(before?.scope ?? []), ...scope])],
      hosts: [...new Set([...(before?.hosts ?? []), host])],
      sinceMs: before?.sinceMs ?? this.clock.date(),
      ...(mark !== undefined && { mark }),
    }
    await this.records.set('approval', appOf(userId, clientId), approval, APPROVED_MS, ofUser(userId))
    // Another process may write the list at the same moment. What it left out is added again.
    for (let tries = 0; tries < 5; tries++) {
      const listed = await this.listed(userId)
      if (listed.includes(clientId)) return
      await this.list(userId, [clientId, ...listed].slice(0, MOST_LISTED))
    }
  }

  /** Whether the user approved all of it. */
  async isApproved({ userId, clientId, scope, host }: Omit<ApprovalRequest, 'name'>): Promise<boolean> {
    const approval = await this.find(userId, clientId)
    return !!approval?.hosts.includes(host) && scope.every((one) => approval.scope.includes(one))
  }

  /** Keeps an approval that the app makes use of. */
  async renew({ userId, clientId }: Pick<ApprovalRequest, 'userId' | 'clientId'>): Promise<void> {
    if (await this.find(userId, clientId)) await this.listed(userId)
  }

  /** The apps that the user approved, the latest first. */
  async of(userId: string): Promise<readonly ApprovedApp[]> {
    const apps = await Promise.all(
      (await this.listed(userId)).map(async (clientId) => {
        const approval = await this.find(userId, clientId)
        if (!approval) return []
        const { name, scope, hosts, sinceMs } = approval
        return [{ clientId, name, hosts, scope, since: new Date(sinceMs) }]
      }),
    )
    return apps.flat()
  }

  /** Forgets an approval. The app's tokens stay. */
  async remove(userId: string, clientId: string): Promise<void> {
    await this.records.claim('approval', appOf(userId, clientId), 0)
    const left = (await this.listed(userId)).filter((one) => one !== clientId)
    await this.list(userId, left)
  }

  private async find(userId: string, clientId: string): Promise<Approval | undefined> {
    const approval = await this.records.get<Approval>('approval', appOf(userId, clientId), APPROVED_MS)
    if (!approval || !(await this.revocations.isUserRevoked(userId, approval.mark))) return approval
    await this.records.claim('approval', appOf(userId, clientId), 0) // before the user's mark is forgotten
    return undefined
  }

  private list(userId: string, clientIds: readonly string[]): Promise<void> {
    return this.records.set('approved', hashOf(userId), clientIds, APPROVED_MS, ofUser(userId))
  }

  private async listed(userId: string): Promise<readonly string[]> {
    return (await this.records.get<readonly string[]>('approved', hashOf(userId), APPROVED_MS)) ?? []
  }
}
