// Written by npm run api-report. Do not edit.
type Placement = "form" | "query";
export type { Placement as P };
