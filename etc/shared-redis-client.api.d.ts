// Written by npm run api-report. Do not edit.
type Dialect = "familysearch" | "standard";
interface RedisClient {
    readonly isCluster?: boolean;
    readonly status: string;
    duplicate(...args: never[]): unknown;
}
export type { Dialect as D, RedisClient as R };
