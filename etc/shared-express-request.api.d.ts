// Written by npm run api-report. Do not edit.
import { S as Session } from "./fetch-json.js";
type McpAuthInfo = import("@modelcontextprotocol/sdk/server/auth/types.js").AuthInfo;
type McpSession = McpAuthInfo & {
    kind?: undefined;
    issuer?: undefined;
    sub?: undefined;
    scope?: any;
    claims?: any;
};
type SessionProperty = "auth" extends keyof Express.Request ? object : AuthenticatedRequest;
interface AuthenticatedRequest {
    auth?: Session | ({
        of: "any";
    } extends {
        of: McpAuthInfo;
    } ? never : McpSession);
}
declare module "express-serve-static-core" {
    interface Request extends SessionProperty {
    }
}
export type { AuthenticatedRequest as A, SessionProperty as S };
