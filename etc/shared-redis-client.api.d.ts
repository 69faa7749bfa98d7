// Written by npm run api-report. Do not edit.
interface RedisClient {
    readonly isCluster?: boolean | undefined;
    readonly status: string;
    duplicate(...args: never[]): unknown;
}
export type { RedisClient as R };
