// Written by npm run api-report. Do not edit.
interface OthersFigures {
    readonly othersSpent: number;
    readonly othersRunning: number;
    readonly othersHeld: number;
    readonly granted: number;
    readonly more: number;
    readonly incarnation: number;
    readonly ended: number;
}
interface SyncCommand {
    readonly id: string;
    readonly number: number;
    readonly process: string;
    readonly starts: number;
    readonly ends: number;
    readonly validUntil: number;
    readonly seq: number;
    readonly stored: number;
    readonly spent: number;
    readonly hold: number;
    readonly running: number;
    readonly want: number;
    readonly unit: number;
    readonly isAwaited: boolean;
    readonly slice: number;
    readonly keep: number;
    readonly limit: number;
    readonly tolerance: number;
    readonly leaseMs: number;
    readonly incarnation: number;
    readonly ended: number;
    readonly closing: boolean;
}
interface SyncReply {
    readonly time: number;
    readonly written?: SyncFigures;
    readonly unreadable?: string;
}
interface SyncFigures extends OthersFigures {
    readonly lone: boolean;
    readonly found: number;
}
interface ThrottleStore {
    shardOf(id: string): StoreShard;
    watch(watcher: StoreWatcher): void;
    readonly keeps?: string;
    sharePrices?(window: string, prices: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>>;
    close(): Promise<void>;
}
interface StoreShard {
    readonly name: string | undefined;
    readonly place?: string;
    readonly isOnly?: boolean;
    sync(window: string, command: SyncCommand): Promise<SyncReply>;
    beat(): Promise<{
        readonly time: number;
        readonly whole: boolean;
        readonly processes?: number;
    }>;
}
interface StoreWatcher {
    ready(shard: StoreShard): void;
    gone(shard: StoreShard): void;
}
export type { StoreShard as S, ThrottleStore as T, StoreWatcher as a, SyncCommand as b, SyncFigures as c, SyncReply as d };
