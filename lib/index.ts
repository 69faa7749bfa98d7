export { processingTime } from './http/processing-time'
export { serviceUnavailable, type ServiceUnavailableOptions } from './http/service-unavailable'
export {
  InsufficientScopeError,
  InvalidRequestError,
  ThrottledError,
  UnauthorizedError,
  UnavailableError,
  type DenialError,
} from './errors'
export type { ErrorFormat } from './http/error-body'
export type { OnDenied } from './http/deny'
export type { Clock } from './http/clock'
