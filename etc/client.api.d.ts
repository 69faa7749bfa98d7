// Written by npm run api-report. Do not edit.
interface ClientClock {
    now(): number;
    date(): number;
    after(ms: number, fn: () => void): () => void;
}
type Fetch = typeof globalThis.fetch;
interface PacedFetchOptions {
    readonly fetch?: Fetch | undefined;
    readonly concurrency?: number | undefined;
    readonly retries?: number | undefined;
    readonly maxWaitMs?: number | undefined;
    readonly onRetry?: ((retry: Retry) => void) | undefined;
    readonly clock?: ClientClock | undefined;
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
