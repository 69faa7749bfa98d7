import { hashOf } from '../../http/secret'
import type { Records } from './records'

/** What an app asks a user to approve. */
export interface ApprovalRequest {
  readonly userId: string
  readonly clientId: string
  readonly scope: readonly string[]
  /** Where the code goes: `app.example.com`, `localhost` or `com.example.app:`. */
  readonly host: string
}

interface Approval {
  readonly scopes: readonly string[]
  readonly hosts: readonly string[]
}

const REMEMBERED_MS = 365 * 24 * 60 * 60_000

/** What users approved: one record per user and app, for a year from its last use. */
export class Approvals {
  readonly #records: Records

  constructor(records: Records) {
    this.#records = records
  }

  /** Adds to what the user approved for the app before. */
  async approve(request: ApprovalRequest): Promise<void> {
    const before = await this.#find(request)
    const approval: Approval = {
      scopes: [...new Set([...(before?.scopes ?? []), ...request.scope])],
      hosts: [...new Set([...(before?.hosts ?? []), request.host])],
    }
    await this.#records.set('approval', idOf(request), approval, REMEMBERED_MS)
  }

  /** Whether the user approved all of it. */
  async isApproved(request: ApprovalRequest): Promise<boolean> {
    const approval = await this.#find(request)
    if (!approval?.hosts.includes(request.host)) return false
    return request.scope.every((scope) => approval.scopes.includes(scope))
  }

  #find(request: ApprovalRequest): Promise<Approval | undefined> {
    return this.#records.get<Approval>('approval', idOf(request), REMEMBERED_MS)
  }
}

function idOf({ userId, clientId }: ApprovalRequest): string {
  return hashOf(`${clientId}\n${userId}`)
}
