// Written by npm run api-report. Do not edit.
interface ClientClock {
    now(): number;
    date(): number;
    after(ms: number, fn: () => void): () => void;
}
type Fetch = typeof globalThis.fetch;
interface PacedFetchOptions {
    readonly fetch?: Fetch;
    readonly concurrency?: number;
    readonly retries?: number;
    readonly maxWaitMs?: number;
    readonly onRetry?: (retry: Retry) => void;
    readonly clock?: ClientClock;
}
interface Retry {
    readonly url: string;
    readonly status: number;
    readonly waitMs: number;
    readonly attempt: number;
}
declare function pacedFetch(options?: PacedFetchOptions): Fetch;
export { pacedFetch };
export type { ClientClock, Fetch, PacedFetchOptions, Retry };
