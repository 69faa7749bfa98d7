export { ATTACKS, type Attack } from './attack-tokens'
export { devIssuer, type DevIssuer, type DevIssuerOptions, type DevTokenOptions } from './dev-issuer'
export type { DevAlgorithm } from './dev-keys'
export { manualClock, type ManualClock } from './manual-clock'
