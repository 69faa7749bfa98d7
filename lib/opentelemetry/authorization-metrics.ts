import type { Meter } from '@opentelemetry/api'
import { listenTo } from '../http/channel-listeners'
import type {
  OAuthLoginMessage,
  OAuthRefusedMessage,
  OAuthRevokedMessage,
  OAuthTokenIssuedMessage,
} from '../oauth/diagnostics'

/**
 * Counts what every authorization server of this process does, with an OpenTelemetry meter:
 *
 * - `tollgate.oauth.tokens` {token}: issued, by `tollgate.oauth.grant_type`
 * - `tollgate.oauth.logins` {login}: by `tollgate.outcome`, `succeeded`, `failed` or `locked`
 * - `tollgate.oauth.refusals` {request}: by `tollgate.oauth.endpoint` and `error.type`, the OAuth error code
 * - `tollgate.oauth.revocations` {revocation}: by `tollgate.oauth.revoked`, `token` or `grant`
 *
 * No attribute says which user or app.
 *
 * @experimental names and attributes of the metrics may change
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

  return listenTo('authorizationMetrics()', {
    'express-tollgate:oauth-token-issued': ({ grant }: OAuthTokenIssuedMessage) =>
      tokens.add(1, { 'tollgate.oauth.grant_type': grant }),
    'express-tollgate:oauth-login': ({ outcome }: OAuthLoginMessage) => logins.add(1, { 'tollgate.outcome': outcome }),
    'express-tollgate:oauth-refused'({ endpoint, code }: OAuthRefusedMessage) {
      refusals.add(1, { 'tollgate.oauth.endpoint': endpoint, 'error.type': code })
    },
    'express-tollgate:oauth-revoked': ({ what }: OAuthRevokedMessage) =>
      revocations.add(1, { 'tollgate.oauth.revoked': what }),
  })
}
