// Written by npm run api-report. Do not edit.
import { IncomingMessage } from "node:http";
interface RequestBudget {
    readonly subject: string;
    readonly window: string;
    readonly limitMs: number;
    readonly spentMs: number;
    readonly leftMs: number;
    readonly endsInMs: number;
    charge(ms: number): void;
    settle(): void;
    toJSON(): BudgetJson;
    readonly signal: AbortSignal;
}
type BudgetJson = Pick<RequestBudget, "subject" | "window" | "limitMs" | "spentMs" | "leftMs" | "endsInMs">;
declare global {
    namespace Express {
        interface Request {
            throttle?: RequestBudget;
        }
    }
}
declare function budgetOf(req: IncomingMessage): RequestBudget;
export { budgetOf as b };
export type { BudgetJson as B, RequestBudget as R };
