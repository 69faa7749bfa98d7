/** What a claim found. */
export interface OAuthStoreClaim {
  /** The value set under the key. */
  readonly value: string
  /** True for exactly one claim of the key, over all processes. */
  readonly first: boolean
  /** Milliseconds since that first claim, by the store's clock; 0 for the first. */
  readonly agoMs: number
}

/** A counter's state. */
export interface OAuthStoreCount {
  readonly total: number
  /** Milliseconds until the counter resets. */
  readonly endsInMs: number
}

/**
 * Where the authorization server keeps codes, refresh tokens, opaque tokens, website sessions, revocations and failed
 * logins. Keys are ASCII and hold hashes only, never a secret.
 *
 * `owner` names who caused the record: a block of addresses such as `203.0.0.0/16`, `user:` or `app:` and a hash. A store
 * with a bound lets the oldest record of the owner with the most make way. A record without an owner is a revocation, and
 * never makes way. A store without a bound may ignore it.
 *
 * Each method is one atomic step over all processes that share the store. Times are by the store's own clock. An expired
 * entry does not exist. Any method may reject while the store is unreachable: the server then answers 503.
 *
 * @experimental a store of your own may need another method after a minor release
 */
export interface OAuthStore {
  /** Stores `value` under `key` for `ttlMs` milliseconds. Replaces an older entry and its claim. */
  set(key: string, value: string, ttlMs: number, owner?: string): Promise<void>
  /** The value, claimed or not. With `idleMs` the entry then expires that many milliseconds from now. */
  get(key: string, idleMs?: number): Promise<string | undefined>
  /** Claims a single-use entry and keeps it, claimed, for `keepMs`; 0 deletes it. Undefined if there is no entry. */
  claim(key: string, keepMs: number): Promise<OAuthStoreClaim | undefined>
  /** Adds `by` to a counter that resets `windowMs` after its first count. 0 reads it; 0 and less create none. */
  count(key: string, by: number, windowMs: number, owner?: string): Promise<OAuthStoreCount>
  /** Lets go of connections. Safe to call twice. `server.close()` calls it. */
  close?(): Promise<void>
}

/** A store of this package: it can be closed. */
export interface ClosableOAuthStore extends OAuthStore {
  /** Lets go of the store's own connection. Safe to call twice. `server.close()` calls it. */
  close(): Promise<void>
  /** As `close()`: `await using store = redisOAuthStore(url)`. */
  [Symbol.asyncDispose](): Promise<void>
}
