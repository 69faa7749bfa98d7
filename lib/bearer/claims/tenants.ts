import { answeredAtOnce } from '../../http/callback'
import { optionError } from '../../http/help'
import { shown } from '../../http/options'

/** Accepted tenants: their names, or a function that returns true for them. */
export type Tenants = readonly string[] | ((tenant: string) => boolean)

/** Pattern of the names of an issuer with tenants: `https://login.microsoftonline.com/{tid}/v2.0`. */
export interface TenantPattern {
  /** Claim that must name the same tenant. */
  readonly claim: string
  /** Listed tenants; empty with a function. */
  readonly listed: readonly string[]
  /** Tenant that an `iss` names; undefined if the name does not match, or the tenant is not accepted. */
  tenantOf(iss: string): string | undefined
  /** Name of the issuer for a tenant. */
  issuerOf(tenant: string): string
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
  if (issuers.length > 1 || found.length > 1 || placeholder[1] === '') {
    throw optionError(`issuer may have one placeholder, with a claim's name; received ${shown(issuers)}`)
  }
  if (typeof tenants !== 'function' && !isTenants(tenants)) {
    throw optionError(`tenants must be a list of tenants or a function; received ${shown(tenants)}`)
  }
  const [before, after] = (issuers[0] as string).split(placeholder[0]) as [string, string]
  const accepted = typeof tenants === 'function' ? tenants : (tenant: string) => tenants.includes(tenant)
  const issuerOf = (tenant: string) => before + tenant + after
  return {
    claim: placeholder[1] as string,
    listed: typeof tenants === 'function' ? [] : [...tenants],
    tenantOf(iss) {
      const tenant = iss.slice(before.length, iss.length - after.length)
      return issuerOf(tenant) === iss && isTenant(tenant) && answeredAtOnce('tenants', accepted(tenant)) === true
        ? tenant
        : undefined
    },
    issuerOf,
  }
}

function isTenants(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every(isTenant)
}

function isTenant(value: unknown): boolean {
  return typeof value === 'string' && TENANT.test(value)
}
