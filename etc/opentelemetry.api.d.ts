// Written by npm run api-report. Do not edit.
import { Meter } from "@opentelemetry/api";
declare function throttleMetrics(meter: Meter): () => void;
export { throttleMetrics };
