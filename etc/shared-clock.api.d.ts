// Written by npm run api-report. Do not edit.
interface Clock {
    now(): number;
    date(): number;
    after(ms: number, fn: () => void): () => void;
}
export type { Clock as C };
