// Written by npm run api-report. Do not edit.
type JsonObject = Readonly<Record<string, unknown>>;
export type { JsonObject as J };
