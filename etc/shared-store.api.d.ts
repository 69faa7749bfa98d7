// Written by npm run api-report. Do not edit.
interface UsageStore {
    addUsage?(policy: string, hour: number, counts: ReadonlyMap<string, number>): Promise<void>;
    readUsage?(policy: string, hours: readonly number[]): Promise<readonly Readonly<Record<string, string>>[]>;
}
interface ThrottleStore extends UsageStore {
    serverOf(id: string): StoreServer;
    watch(watcher: StoreWatcher): void;
    readonly keeps?: string;
    close(): Promise<void>;
}
interface StoreServer {
    readonly name: string | undefined;
    readonly place?: string;
    readonly reportsPerCommand?: number;
    report(policy: string, process: string, reports: readonly Report[]): Promise<readonly Answer[]>;
    beat(): Promise<Beat>;
}
interface Beat {
    readonly time: number;
    readonly living?: number;
    readonly token?: string;
}
interface StoreWatcher {
    ready(server: StoreServer): void;
    gone(server: StoreServer): void;
}
interface Report {
    readonly subject?: string;
    readonly id: string;
    readonly number: number;
    readonly starts: number;
    readonly ends: number;
    readonly seq: number;
    readonly stored: number;
    readonly used: number;
    readonly held: number;
    readonly running: number;
    readonly excused: number;
    readonly added: number;
    readonly strain: number;
    readonly carried: number;
    readonly hasNews: boolean;
    readonly clears: boolean;
    readonly lasts: number;
    readonly want: number;
    readonly count: number;
    readonly unit: number;
    readonly wish: number;
    readonly wishPlaces: number;
    readonly limit: number;
    readonly carries: boolean;
}
interface Answer {
    readonly time: number;
    readonly status: "written" | "closed" | "late" | "unreadable";
    readonly found: number;
    readonly cause?: string;
    readonly figures?: AnswerFigures;
}
interface AnswerFigures {
    readonly used: number;
    readonly held: number;
    readonly aheadOfOthers: number;
    readonly running: number;
    readonly excused: number;
    readonly added: number;
    readonly strain: number;
    readonly granted: number;
    readonly count: number;
    readonly ahead: number;
    readonly places: number;
    readonly carried: number;
    readonly before?: number;
}
export type { Answer as A, Beat as B, Report as R, StoreServer as S, ThrottleStore as T, UsageStore as U, AnswerFigures as a, StoreWatcher as b };
