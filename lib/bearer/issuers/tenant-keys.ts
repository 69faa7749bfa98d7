import type { TenantPattern } from '../claims/tenants'
import type { KeySource } from '../keys/key-source'
import type { IssuerKeys, NamedKeys } from './jwt-verifier'

/** So many tenants' keys are kept, and always those of all that are listed; the least recently used makes room. */
const MOST_TENANTS = 1_000

/**
 * The keys of an issuer each of whose tenants has its own. Those of listed tenants are known from the start; where a
 * function says which tenants there are, the first token of each makes its keys known.
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
    // Of tenants that are not listed, those whose keys were fetched: anybody can name one that does not exist.
    known: () => [...byTenant.values()].filter(({ keys }) => tenants.listed.length > 0 || keys.all().length > 0),
  }

  function keysOfTenant(tenant: string): NamedKeys {
    const issuer = tenants.issuerOf(tenant)
    return { issuer, keys: keysOf(issuer) }
  }
}
