// Written by npm run api-report. Do not edit.
type FetchFunction = (url: string, init: {
    readonly method?: "POST";
    readonly headers: Record<string, string>;
    readonly body?: string;
    readonly redirect: "manual";
    readonly signal: AbortSignal;
}) => Promise<{
    readonly status: number;
    readonly headers: {
        get(name: string): string | null;
    };
    readonly body: object | null;
}>;
export type { FetchFunction as F };
