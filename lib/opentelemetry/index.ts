export { adviceMetrics } from './advice-metrics'
export { authorizationMetrics } from './authorization-metrics'
export { throttleMetrics } from './throttle-metrics'
