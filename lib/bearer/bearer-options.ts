import type { Clock } from '../http/clock'
import type { DenyOptions } from '../http/answer/deny'
import type { TokenSource } from './credentials/token-sources'
import type { DpopOptions } from './dpop/dpop-check'
import type { IssuerOptions } from './issuers/trusted-issuer'
import type { RevocationSource } from './revocation/revocation-source'

/** Options of `requireBearer()`: of one issuer, or of several in `issuers`; and what every request needs. */
export interface BearerOptions extends IssuerOptions, DenyOptions {
  /**
   * Issuers whose tokens are accepted, each with its own keys and rules. No token is checked with another issuer's key.
   * One may have `introspection` in place of keys: opaque tokens, and JWTs that name it, are sent to its endpoint.
   * Beside the list, `audience`, `session` and `fetch` are for issuers without their own, and `checkClaims` is for all.
   * A function says which of the customers' issuers are trusted: `async (iss) => customers.get(iss)`. Its answer, options
   * of an issuer with keys or undefined, is kept for an hour; `reload(iss)` asks again.
   */
  readonly issuers?:
    | readonly IssuerOptions[]
    | ((iss: string) => IssuerOptions | undefined | Promise<IssuerOptions | undefined>)
    | undefined
  /**
   * Memory for verified tokens, in bytes: whole, 0 to 4,000,000,000. The least recently used go first. Expiry, key,
   * revocation, `session` and `checkClaims` are checked for every request. Default 32,000,000.
   */
  readonly cacheBytes?: number | undefined
  /** The scopes that every request needs: `'read write'` or a list for all, `{ any: [...] }` for one. Default none. */
  readonly scope?:
    | string
    | readonly string[]
    | {
        /** Scopes of which one is enough. */
        readonly any: readonly string[]
      }
    | undefined
  /**
   * The classes of login (`acr`) that are strong enough for every request: `'mfa'`, or a list. Others get 401
   * `insufficient_user_authentication` (RFC 9470 §3), and so do tokens without a user. Default: any login.
   * `requireStepUp()` asks for one on some routes.
   */
  readonly acr?: string | readonly string[] | undefined
  /** Accepts requests without a token, with `req.auth` undefined. A bad token is still refused. Default false. */
  readonly optional?: boolean | undefined
  /**
   * Further places of the token. One place, or a list of:
   *
   * - `{ header: 'X-Forwarded-Access-Token' }`: a field that a proxy sets, with or without `Bearer ` before the token
   * - `{ header: 'X-Amzn-Oidc-Data', padded: true }`: the parts of the JWT end in `=`, as AWS's load balancer writes them
   * - a function `(req) => string | undefined`: the token, wherever it is; it answers at once
   * - `'form'`: `access_token` in a form-encoded body (RFC 6750 §2.2) that a parser before this has read, not with GET
   * - `'query'`: `?access_token=` (§2.3), which logs and browser histories keep
   * - `{ cookie: 'token' }`: browsers send cookies with requests of other sites too, so the app needs protection
   *   against cross-site request forgery
   *
   * A header field and a function come before `Authorization`. A cookie counts only without any other token. Two tokens
   * in `Authorization`, form and query, or in one place: 400. Default none: `Authorization` alone.
   */
  readonly tokenFrom?: TokenSource | readonly TokenSource[] | undefined
  /** Accepts tokens bound to a key, with a proof (RFC 9449). Default false: such tokens are refused. */
  readonly dpop?: DpopOptions | boolean | undefined
  /** The revocation list: `redisRevocations(redis)`. Default none. */
  readonly revocation?: RevocationSource | undefined
  /** The `realm` of challenges. Default none. */
  readonly realm?: string | undefined
  /**
   * The address of the protected resource's metadata, for challenges (RFC 9728 §5.1). With it, a slash at the end of
   * the audience makes no difference. Default none.
   */
  readonly resourceMetadata?: string | undefined
  /**
   * The claim that marks a session without a user. Default `{ claim: 'session_kind', value: 'unauthenticated' }`.
   */
  readonly unauthenticated?:
    | {
        /** The claim's name. */
        readonly claim: string
        /** Its value in a token without a user. */
        readonly value: string | number | boolean
      }
    | undefined
  /**
   * Longest accepted token, in characters: 256 to 1,048,576. Longer ones are refused unread. Default: Node's limit for
   * all header fields together, 16,384 unless `--max-http-header-size` sets another.
   */
  readonly maxTokenLength?: number | undefined
  /**
   * Warnings `TOLLGATE_ISSUER` of faults in the configuration or at the issuer: an issuer that cannot be reached, tokens
   * of another issuer or for another audience. At most one a minute for each cause. Default true.
   */
  readonly warnings?: boolean | undefined
  /** Clock, for tests: `manualClock()`. Default: the machine's. */
  readonly clock?: Clock | undefined
}
