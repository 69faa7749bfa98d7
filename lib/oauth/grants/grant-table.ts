import { authorizationCode } from './authorization-code'
import { clientCredentials } from './client-credentials'
import type { Grant } from './grant'
import { refreshToken } from './refresh-token'
import { unauthenticatedSession } from './unauthenticated-session'

const all: readonly Grant[] = [authorizationCode, unauthenticatedSession, clientCredentials, refreshToken]

/** The grants by name. A Map, so that `grant_type=__proto__` finds nothing. */
export const GRANTS: ReadonlyMap<string, Grant> = new Map(all.map((grant) => [grant.name, grant]))
