export { throttle, type AdviseOptions, type Throttle } from './throttle'
export { addressSubject } from './subject'
export type { OverloadOptions, RouteWindow, ThrottleOptions, WaitOptions } from './options'
export type { ThrottleHeaders } from './request/response-headers'
export type { LimitMs } from './options'
export type { BudgetJson, RequestBudget } from './request/budget'
export type { EventStreams } from '../http/measure/meter'
export type {
  AdmittedMessage,
  ChargedMessage,
  OverloadMessage,
  RefusedMessage,
  StoreMessage,
  SyncedMessage,
} from './events'
export type { Usage } from './usage'
export type { Advice, LimitAdvice } from '../advisor/advice'
export type { Bar } from '../advisor/distribution'
export { throttleTest } from './throttle-test'
export { redisStore, type RedisStoreOptions } from './redis/redis-store'
export type { RedisClient } from '../redis/redis-client'
export type { ThrottleStore } from './store/store'
export { budgetOf } from './request/budget-of'

export { processingTime, type ProcessingTimeOptions } from '../http/measure/processing-time'
export { serviceUnavailable, type ServiceUnavailableOptions } from '../http/answer/service-unavailable'

export {
  ThrottledError,
  UnavailableError,
  type Denial,
  type DenialError,
  type DenialHeaders,
  type RefusalFigures,
} from '../errors'
export type { Clock } from '../http/clock'
export type { DenyOptions, ErrorResponseOptions, OnDenied } from '../http/answer/deny'
export type { Middleware } from '../http/middleware'
export type { Dialect } from '../http/answer/dialect'
export type { ErrorForm, ErrorFormat, ErrorFormatOption } from '../http/answer/error-format'
