/** What the specs use of fs-js-lite, which brings no types. */
declare module 'fs-js-lite' {
  class FamilySearch {
    constructor(options: { appKey?: string; accessToken?: string })
    middleware: {
      readonly request: ((client: FamilySearch, request: { url: string }, next: () => void) => void)[]
    }
    identHost(): string
    platformHost(): string
    get(url: string, callback: (error: Error | undefined, answer: FamilySearch.Answer) => void): void
  }
  namespace FamilySearch {
    interface Answer {
      readonly statusCode: number
      readonly headers: Readonly<Record<string, string>>
      readonly data?: unknown
      readonly body: string
      readonly throttled: boolean
      readonly retries: number
    }
  }
  export = FamilySearch
}
