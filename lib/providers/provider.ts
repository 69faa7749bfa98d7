import { shown } from '../http/options'
import type { IssuerOptions } from '../bearer/issuers/trusted-issuer'
import type { SessionIdentity } from '../bearer/session/session'
import { optionError } from '../http/help'

/** What may be said of any provider's tokens beside what its preset says, such as `key` or `clockToleranceSec`. */
export type ProviderOptions = Partial<IssuerOptions>

/** A claim as text; undefined where it is anything else. */
export function text(claim: unknown): string | undefined {
  return typeof claim === 'string' ? claim : undefined
}

/** A user's identity; undefined where the token names nobody. */
export function user(userId: unknown, clientId?: unknown): SessionIdentity | undefined {
  return typeof userId === 'string' ? { kind: 'user', userId, clientId: text(clientId) } : undefined
}

/** A service account's identity; undefined where the token names none. */
export function client(clientId: unknown): SessionIdentity | undefined {
  return typeof clientId === 'string' ? { kind: 'client', clientId } : undefined
}

/** Whether a claim has a value, where one is wanted. */
export function isOr(claim: unknown, wanted: string | undefined): boolean {
  return wanted === undefined || claim === wanted
}

/** A provider's preset with what the app adds: `checkClaims` of both count, and keys of the app's replace the provider's. */
export function preset(facts: ProviderOptions, more: ProviderOptions = {}): IssuerOptions {
  const { jwksUri, ...rest } = facts
  const hasOwnKeys = ['key', 'keys', 'secret'].some((name) => name in more)
  const keys = !hasOwnKeys && jwksUri !== undefined && { jwksUri }
  const [first, second] = [facts.checkClaims, more.checkClaims]
  const checks: ProviderOptions | undefined = first &&
    second && { checkClaims: (claims, token) => first(claims, token) && second(claims, token) }
  return { ...rest, ...keys, ...more, ...checks }
}

/** @throws {TypeError} naming the option, unless it is a text */
export function needText(provider: string, option: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  throw optionError(`${provider}() needs ${option}, a text; received ${shown(value)}`)
}

/** @throws {TypeError} naming the option, unless it is a list of texts */
export function needList(provider: string, option: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string' && one !== '')) {
    return value as readonly string[]
  }
  throw optionError(`${provider}() needs ${option}, a list of texts; received ${shown(value)}`)
}

/** The host of a domain, however it was written: `acme.eu.auth0.com`. */
export function hostOf(provider: string, option: string, value: unknown): string {
  return needText(provider, option, value).replace('https://', '').replace(/\/$/, '')
}
