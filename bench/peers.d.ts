// What is used of the peers that the root does not have, so that types are checked without bench's own `npm ci`.
declare module 'rate-limit-redis' {
  import type { Store } from 'express-rate-limit'
  export interface RedisStore extends Store {
    readonly prefix: string
  }
  export const RedisStore: new (options: {
    sendCommand: (command: string, ...args: string[]) => Promise<string | number>
  }) => RedisStore
}
declare module 'fast-jwt' {
  export function createVerifier(options: {
    key: string
    algorithms: readonly string[]
    cache: number
    allowedIss: string
    allowedAud: string
  }): (token: string) => unknown
}
declare module 'toobusy-js' {
  export default function toobusy(): boolean
}
declare module 'jwks-rsa' {
  import type { GetVerificationKey } from 'express-jwt'
  export function expressJwtSecret(options: { jwksUri: string; cache: boolean }): GetVerificationKey
}
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'
  export class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
  }
  export default Provider
}
declare module '@node-oauth/oauth2-server' {
  interface Model {
    getClient(id: string, secret: string): Promise<object | false>
    getUserFromClient(): Promise<object>
    generateAccessToken(): Promise<string>
    saveToken(token: object, client: object, user: object): Promise<object>
  }
  export default class OAuth2Server {
    constructor(options: { model: Model })
    token(request: object, response: object): Promise<unknown>
    static Request: new (of: object) => object
    static Response: new (of: object) => { headers?: Record<string, string>; status?: number; body?: unknown }
  }
}
