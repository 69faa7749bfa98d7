// Written by npm run api-report. Do not edit.
import { Meter } from "@opentelemetry/api";
declare function authorizationMetrics(meter: Meter): () => void;
declare function throttleMetrics(meter: Meter): () => void;
export { authorizationMetrics, throttleMetrics };
