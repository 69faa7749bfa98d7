export { pacedFetch, type Fetch, type PacedFetchOptions, type Retry } from './paced-fetch'
export type { ClientClock } from './clock'
