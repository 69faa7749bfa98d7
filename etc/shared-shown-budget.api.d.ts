// Written by npm run api-report. Do not edit.
import { IncomingMessage } from "node:http";
import { S as Session } from "./session.js";
type Dialect = "familysearch" | "standard";
type McpAuthInfo1 = import("@modelcontextprotocol/sdk/server/auth/types.js").AuthInfo;
type McpAuthInfo2 = import("@modelcontextprotocol/server").AuthInfo;
type OwnOfSession = {
    kind?: undefined;
    issuer?: undefined;
    sub?: undefined;
    userId?: undefined;
};
type FitsSession = OwnOfSession & {
    scope?: any;
    claims?: any;
    signal?: any;
};
type McpSession<AuthInfo> = {
    of: "any";
} extends {
    of: AuthInfo;
} ? never : AuthInfo & FitsSession;
type SessionProperty = "auth" extends keyof Express.Request ? object : AuthenticatedRequest;
interface AuthenticatedRequest {
    auth?: Session | McpSession<McpAuthInfo1> | McpSession<McpAuthInfo2>;
}
declare module "express-serve-static-core" {
    interface Request extends SessionProperty {
    }
}
declare function sessionOf(req: IncomingMessage): Session;
interface RequestBudget {
    readonly subject: string;
    readonly window: string;
    readonly limitMs: number;
    readonly spentMs: number;
    readonly leftMs: number;
    readonly endsInMs: number;
    charge(ms: number): void;
    settle(): void;
    toJSON(): Pick<RequestBudget, "subject" | "window" | "limitMs" | "spentMs" | "leftMs" | "endsInMs">;
    readonly signal: AbortSignal;
}
declare global {
    namespace Express {
        interface Request {
            throttle?: RequestBudget;
        }
    }
}
declare function budgetOf(req: IncomingMessage): RequestBudget;
export { budgetOf as b, sessionOf as s };
export type { Dialect as D, RequestBudget as R };
