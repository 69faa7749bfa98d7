import { optionError } from '../../http/help'
import { shown } from '../../http/options'

/** Accepted tenants: their names, or a function that returns true for them, at once or later. */
export type Tenants = readonly string[] | ((tenant: string) => boolean | Promise<boolean>)

/** Pattern of the names of an issuer with tenants: `https://login.microsoftonline.com/{tid}/v2.0`. */
export interface TenantPattern {
  /** Claim that must name the same tenant, if the token has it. */
  readonly claim: string
  /** Listed tenants; empty with a function. */
  readonly listed: readonly string[]
  /** Tenant that an `iss` names; undefined if it does not match, or the tenant is not listed. */
  readonly tenantOf: (iss: string) => string | undefined
  /** Whether a tenant is accepted, by the app's function; asked for every request. Undefined with a list. */
  readonly accepts: ((tenant: string) => boolean | Promise<boolean>) | undefined
  /** A name or an address with the placeholder, for a tenant. */
  of(name: string, tenant: string): string
}

const PLACEHOLDER = /\{([^{}]*)\}/g
/** Syntax of a tenant's name: no character that could end a segment of a path. */
const TENANT = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

/**
 * Makes the pattern of an issuer with tenants; undefined if its name has no placeholder.
 *
 * @throws {TypeError} if there is a placeholder without `tenants`, or `tenants` without a placeholder
 */
export function tenantPattern(issuers: readonly string[], tenants: Tenants | undefined): TenantPattern | undefined {
  const found = issuers.flatMap((issuer) => [...issuer.matchAll(PLACEHOLDER)])
  const [placeholder] = found
  if (placeholder === undefined) {
    if (tenants === undefined) return undefined
    throw optionError("tenants needs a placeholder in issuer: 'https://login.example.org/{tid}'")
  }
  const [braces, claim] = placeholder as unknown as [string, string]
  if (issuers.length > 1 || found.length > 1 || claim === '') {
    throw optionError(`issuer may have one placeholder, with a claim's name; received ${shown(issuers)}`)
  }
  const list: readonly string[] = Array.isArray(tenants) ? (tenants as string[]) : []
  if (typeof tenants !== 'function' && !(list.length > 0 && list.every(isTenant))) {
    throw optionError(
      `tenants must be a list of tenants or a function; received ${shown(tenants)}. They are what ${braces} in issuer ` +
        "may stand for: tenants: ['acme', 'globex'], or tenants: (tenant) => known.has(tenant)",
    )
  }
  const listed = [...list]
  const pattern = issuers[0] as string
  return {
    claim,
    listed,
    tenantOf(iss) {
      const tenant = tenantIn(pattern, iss)
      return tenant !== undefined && (typeof tenants === 'function' || listed.includes(tenant)) ? tenant : undefined
    },
    accepts: typeof tenants === 'function' ? tenants : undefined,
    of: (name, tenant) => name.replaceAll(braces, tenant),
  }
}

/** Tenant that an `iss` names, by the pattern of its issuer; undefined if it does not match. */
export function tenantIn(pattern: string, iss: string): string | undefined {
  const [before, after] = pattern.split(PLACEHOLDER, 3).filter((_, i) => i !== 1) as [string, string?]
  if (after === undefined) return undefined
  const tenant = iss.slice(before.length, iss.length - after.length)
  return before + tenant + after === iss && isTenant(tenant) ? tenant : undefined
}

function isTenant(value: unknown): boolean {
  return typeof value === 'string' && TENANT.test(value)
}
