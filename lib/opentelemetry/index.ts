export { throttleMetrics } from './throttle-metrics'
