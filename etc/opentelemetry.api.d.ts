// Written by npm run api-report. Do not edit.
import { Meter } from "@opentelemetry/api";
import { Throttle } from "../index.js";
import "node:http";
import "express";
import "../shared/shown-budget.js";
import "../shared/session.js";
import "../shared/clock.js";
declare function adviceMetrics(meter: Meter, throttled: Throttle): () => void;
declare function authorizationMetrics(meter: Meter): () => void;
declare function throttleMetrics(meter: Meter): () => void;
export { adviceMetrics, authorizationMetrics, throttleMetrics };
