/** What the specs use of fs-js-lite, which brings no types. */
declare module 'fs-js-lite' {
  class FamilySearch {
    constructor(options: { appKey: string; accessToken?: string; redirectUri?: string })
    middleware: {
      readonly request: ((client: FamilySearch, request: { url: string }, next: () => void) => void)[]
    }
    identHost(): string
    platformHost(): string
    readonly jwt: string
    oauthRedirectURL(state: string): string
    oauthToken(code: string, callback: FamilySearch.Callback): void
    oauthUnauthenticatedToken(ip: string, callback: FamilySearch.Callback): void
    get(url: string, callback: FamilySearch.Callback): void
    post(url: string, options: object, callback: FamilySearch.Callback): void
    getAccessToken(): string
  }
  namespace FamilySearch {
    type Callback = (error: Error | undefined, answer: Answer) => void
    interface Answer {
      readonly statusCode: number
      readonly headers: Readonly<Record<string, string>>
      readonly data: Readonly<Record<string, unknown>>
      readonly body: string
      readonly throttled: boolean
      readonly retries: number
    }
  }
  export = FamilySearch
}
