import type { TenantPattern } from '../claims/tenants'
import type { KeySource } from '../keys/key-source'

/** The keys of an issuer: one set, or one for each of its tenants. */
export interface IssuerKeys {
  /** Keys for the tokens of a tenant; `tenant` is undefined if the issuer has none. */
  of(tenant: string | undefined): KeySource
  /** All key sets so far. */
  known(): readonly NamedKeys[]
}

/** A key set with the name of its issuer: `https://login.example.org/acme`. */
export interface NamedKeys {
  readonly issuer: string
  readonly keys: KeySource
}

/** Largest number of unlisted tenants whose keys are kept; the least recently used is removed first. */
const MOST_TENANTS = 1_000

/**
 * Keys of an issuer with a key set for each tenant. Listed tenants have theirs from the start. With a function in
 * `tenants`, the first token of a tenant adds its key set.
 *
 * @param issuer pattern of its name
 * @param keysOf makes the key source of a tenant
 * @throws what `keysOf` throws for any tenant, at startup
 */
export function tenantKeys(tenants: TenantPattern, issuer: string, keysOf: (tenant: string) => KeySource): IssuerKeys {
  const { listed } = tenants
  const byTenant = new Map(listed.map((tenant) => [tenant, namedKeysOf(tenant)]))
  const most = Math.max(MOST_TENANTS, listed.length)
  if (listed.length === 0) keysOf('tenant') // throws at startup what would be wrong for every tenant

  return {
    of(tenant = '') {
      const known = byTenant.get(tenant) ?? namedKeysOf(tenant)
      byTenant.delete(tenant)
      if (byTenant.size >= most) byTenant.delete(leastUseful())
      byTenant.set(tenant, known)
      return known.keys
    },
    // Unlisted tenants count once their keys were fetched, because a token may name a tenant that does not exist.
    known: () => [...byTenant.values()].filter(({ keys }) => listed.length > 0 || keys.all().length > 0),
  }

  function namedKeysOf(tenant: string): NamedKeys {
    return { issuer: tenants.of(issuer, tenant), keys: keysOf(tenant) }
  }

  /** The tenant without keys that was used least recently; where all have keys, that tenant. */
  function leastUseful(): string {
    for (const [tenant, { keys }] of byTenant) if (keys.all().length === 0) return tenant
    return byTenant.keys().next().value as string
  }
}
