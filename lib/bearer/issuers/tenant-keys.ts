import type { TenantPattern } from '../claims/tenants'
import type { KeySource } from '../keys/key-source'
import type { IssuerKeys, NamedKeys } from './jwt-verifier'

/** Largest number of unlisted tenants whose keys are kept; the least recently used is removed first. */
const MOST_TENANTS = 1_000

/**
 * Keys of an issuer with a key set for each tenant. Listed tenants have theirs from the start. With a function in
 * `tenants`, the first token of a tenant adds its key set.
 *
 * @param keysOf makes the key source of an issuer by its name
 * @throws what `keysOf` throws for any tenant, at startup
 */
export function tenantKeys(tenants: TenantPattern, keysOf: (issuer: string) => KeySource): IssuerKeys {
  const byTenant = new Map(tenants.listed.map((tenant) => [tenant, keysOfTenant(tenant)]))
  const most = Math.max(MOST_TENANTS, tenants.listed.length)
  if (byTenant.size === 0) keysOf(tenants.issuerOf('tenant')) // throws at startup what would be wrong for every tenant

  return {
    of(tenant) {
      const known = byTenant.get(tenant as string) ?? keysOfTenant(tenant as string)
      byTenant.delete(tenant as string)
      byTenant.set(tenant as string, known)
      if (byTenant.size > most) byTenant.delete([...byTenant.keys()][0] as string)
      return known.keys
    },
    // Unlisted tenants count once their keys were fetched, because a token may name a tenant that does not exist.
    known: () => [...byTenant.values()].filter(({ keys }) => tenants.listed.length > 0 || keys.all().length > 0),
  }

  function keysOfTenant(tenant: string): NamedKeys {
    const issuer = tenants.issuerOf(tenant)
    return { issuer, keys: keysOf(issuer) }
  }
}
