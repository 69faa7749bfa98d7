export { devIssuer, type DevIssuer, type DevIssuerOptions, type DevTokenOptions } from './dev-issuer'
export { manualClock, type ManualClock } from './manual-clock'
