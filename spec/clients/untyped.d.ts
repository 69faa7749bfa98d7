// Clients without types of their own, as far as the specs use them.

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

declare module 'passport-oauth2' {
  class Strategy {
    constructor(options: Record<string, unknown>, verify: (...args: never[]) => void)
  }
  export = Strategy
}
