// Clients without types of their own, as far as the specs use them.

declare module 'fs-js-lite' {
  namespace FamilySearch {
    interface FsResponse {
      statusCode: number
      data: Record<string, unknown>
    }
    type Callback = (error: Error | undefined, response: FsResponse) => void
    type Middleware = (client: FamilySearch, request: { url: string }, next: () => void) => void
  }
  class FamilySearch {
    constructor(options: { appKey: string; redirectUri: string })
    middleware: { request: FamilySearch.Middleware[] }
    jwt: string
    identHost(): string
    platformHost(): string
    oauthRedirectURL(state: string): string
    oauthToken(code: string, callback: FamilySearch.Callback): void
    oauthUnauthenticatedToken(ip: string, callback: FamilySearch.Callback): void
    get(url: string, callback: FamilySearch.Callback): void
    post(url: string, options: object, callback: FamilySearch.Callback): void
    getAccessToken(): string
  }
  export = FamilySearch
}

declare module 'passport' {
  import type { RequestHandler } from 'express'
  export class Passport {
    use(strategy: object): this
    initialize(): RequestHandler
    authenticate(name: string, options: { session: boolean; state?: string }): RequestHandler
  }
}

declare module 'passport-familysearch' {
  type Done = (err: unknown, user: unknown) => void
  class Strategy {
    constructor(
      options: Record<string, unknown>,
      verify: (accessToken: string, refreshToken: string, profile: Record<string, unknown>, done: Done) => void,
    )
  }
  export { Strategy }
}

declare module 'passport-openidconnect' {
  type Done = (err: unknown, user: unknown) => void
  class Strategy {
    constructor(
      options: Record<string, unknown>,
      verify: (issuer: string, profile: Record<string, unknown>, done: Done) => void,
    )
  }
  export = Strategy
}

declare module 'simple-oauth2' {
  interface AccessToken {
    token: Record<string, unknown>
    refresh(): Promise<AccessToken>
    revokeAll(): Promise<void>
  }
  class AuthorizationCode {
    constructor(config: object)
    authorizeURL(params: object): string
    getToken(params: object): Promise<AccessToken>
  }
  class ClientCredentials {
    constructor(config: object)
    getToken(params: object): Promise<AccessToken>
  }
  export { AuthorizationCode, ClientCredentials }
}
