import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Meter } from '@opentelemetry/api'
import type { LoginMessage, OAuthRefusedMessage, RevokedMessage, TokenIssuedMessage } from '../oauth/diagnostics'

/**
 * Counts what every authorization server of this process does, with an OpenTelemetry meter:
 *
 * - `tollgate.oauth.tokens` {token}: issued, by `grant`
 * - `tollgate.oauth.logins` {login}: by `outcome`, `succeeded`, `failed` or `locked`
 * - `tollgate.oauth.refusals` {request}: by `endpoint` and `code`
 * - `tollgate.oauth.revocations` {revocation}: by `what`, `token` or `grant`
 *
 * No label says which user or app.
 *
 * @example const stop = authorizationMetrics(metrics.getMeter('express-tollgate'))
 * @param meter of `@opentelemetry/api` 1.x
 * @returns what ends it
 */
export function authorizationMetrics(meter: Meter): () => void {
  const tokens = meter.createCounter('tollgate.oauth.tokens', { unit: '{token}', description: 'Tokens issued' })
  const logins = meter.createCounter('tollgate.oauth.logins', { unit: '{login}', description: 'Logins by outcome' })
  const refusals = meter.createCounter('tollgate.oauth.refusals', {
    unit: '{request}',
    description: 'Requests refused by the authorization server',
  })
  const revocations = meter.createCounter('tollgate.oauth.revocations', {
    unit: '{revocation}',
    description: 'Tokens and grants revoked',
  })

  const listeners: Record<string, ChannelListener> = {
    'express-tollgate:token-issued': (message) => tokens.add(1, { grant: (message as TokenIssuedMessage).grant }),
    'express-tollgate:login': (message) => logins.add(1, { outcome: (message as LoginMessage).outcome }),
    'express-tollgate:oauth-refused'(message) {
      const { endpoint, code } = message as OAuthRefusedMessage
      refusals.add(1, { endpoint, code })
    },
    'express-tollgate:revoked': (message) => revocations.add(1, { what: (message as RevokedMessage).what }),
  }
  for (const [name, listener] of Object.entries(listeners)) subscribe(name, listener)
  return () => {
    for (const [name, listener] of Object.entries(listeners)) unsubscribe(name, listener)
  }
}
