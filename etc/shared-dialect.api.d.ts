// Written by npm run api-report. Do not edit.
type Dialect = "familysearch" | "standard";
export type { Dialect as D };
