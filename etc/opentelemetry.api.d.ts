// Written by npm run api-report. Do not edit.
import { Meter } from "@opentelemetry/api";
import { Throttle } from "../index.js";
import "../shared/deny.js";
import "node:http";
import "express";
import "http-errors";
import "../shared/dialect.js";
import "../shared/clock.js";
import "../shared/budget-of.js";
declare function adviceMetrics(meter: Meter, throttled: Throttle): () => void;
declare function authorizationMetrics(meter: Meter): () => void;
declare function throttleMetrics(meter: Meter): () => void;
export { adviceMetrics, authorizationMetrics, throttleMetrics };
