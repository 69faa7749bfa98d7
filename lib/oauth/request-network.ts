import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * The network that the current request came from, as `clientNetwork()` has it. Whatever strangers share looks it up here:
 * places in the queue of logins, and room in the store. In between, the app's own functions are called.
 */
export const requestNetwork = new AsyncLocalStorage<string>()
