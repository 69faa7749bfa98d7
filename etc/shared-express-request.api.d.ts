// Written by npm run api-report. Do not edit.
import { S as Session } from "./fetch-json.js";
type SessionProperty = "auth" extends keyof Express.Request ? object : AuthenticatedRequest;
interface AuthenticatedRequest {
    auth?: Session;
}
declare module "express-serve-static-core" {
    interface Request extends SessionProperty {
    }
}
export type { AuthenticatedRequest as A, SessionProperty as S };
