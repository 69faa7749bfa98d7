/** What a claim found. */
export interface Claim {
  /** What had been set under the key. */
  readonly value: string
  /** True for exactly one of all claims of the key, in whatever process. */
  readonly first: boolean
  /** Milliseconds since that first claim, by the store's clock; 0 for the first. */
  readonly agoMs: number
}

/** What a counter stands at. */
export interface Count {
  readonly total: number
  /** Milliseconds until the counter starts anew. */
  readonly endsInMs: number
}

/**
 * Where the authorization server keeps codes, refresh tokens, opaque tokens, website sessions, revocations and failed
 * logins. Keys are ASCII and hold hashes only, never a secret.
 *
 * Each method is one atomic step over all processes that share the store. Times are by the store's own clock; an entry
 * whose time is up is as if it had never been. Any method may reject when the store is not reachable: the server then
 * answers 503 and lets nothing pass.
 */
export interface OAuthStore {
  /** Keeps `value` under `key` for `ttlMs` milliseconds, in place of what was there. */
  set(key: string, value: string, ttlMs: number): Promise<void>
  /** What is kept, claimed or not. With `idleMs`, it stays for that long from now; what is gone is never revived. */
  get(key: string, idleMs?: number): Promise<string | undefined>
  /** Claims a single-use entry, which then stays known as claimed for `keepMs`; 0 forgets it. Nothing there: undefined. */
  claim(key: string, keepMs: number): Promise<Claim | undefined>
  /** Adds `by` to a counter that starts anew `windowMs` after its first count. A counter not there is not lowered. */
  count(key: string, by: number, windowMs: number): Promise<Count>
}
