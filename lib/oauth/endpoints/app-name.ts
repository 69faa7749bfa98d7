import type { Client } from '../directories/client'
import { hostOf } from '../directories/redirect-uri'
import type { AppName } from '../pages/page-renderer'
import { RegisteredClients } from '../records/registered-clients'

/**
 * The app's name as the pages show it. A self-registered app chose its name, so the host that gets the code is shown
 * with it.
 */
export function appName({ clientId, name }: Pick<Client, 'clientId' | 'name'>, redirectUri: string): AppName {
  const host = hostOf(redirectUri)
  return !RegisteredClients.isRegistered(clientId) || name === host ? { name } : { name, host }
}
