import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { AggregationTemporality, InMemoryMetricExporter } from '@opentelemetry/sdk-metrics'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { type OAuthLoginMessage, type OAuthRefusedMessage, memoryOAuthStore } from '../../lib/oauth'
import { authorizationMetrics } from '../../lib/opentelemetry'
import { AS_WEB, post, startServer, askToken } from './support'
import { UserAgent, codeForm, request } from './user-agent'
import { heard } from '../support/heard'

const reportOn = (text: string) => /please say: ([\w]+), ([2-9A-Z]{4}-[2-9A-Z]{4})</.exec(text)?.slice(1)

describe('errors that a person can report', () => {
  it('an error page says the code and a short id, which the channel says, too', async () => {
    const refused = heard({ after }, 'oauth-refused')
    const running = await startServer()
    const page = await new UserAgent(running.issuer).authorize(running.issuer, request({ client_id: 'nobody' }))
    const [code, id] = reportOn(page.text) ?? []
    assert.equal(code, 'invalid_request')
    assert.deepEqual(refused, [
      { id, endpoint: '/authorization', code, status: 400, reason: "client_id 'nobody' is unknown" },
    ])
    const again = await new UserAgent(running.issuer).authorize(running.issuer, request({ client_id: 'nobody' }))
    assert.notEqual(reportOn(again.text)?.[1], id)
  })

  it('while the store is away, the page, onError and the channel say one id', async () => {
    const refused = heard({ after }, 'oauth-refused')
    const store = { ...memoryOAuthStore(), get: () => Promise.reject(new Error('the store is away')) }
    const told: [unknown, string][] = []
    const onError = (err: unknown, _req: unknown, { id }: OAuthRefusedMessage) => void told.push([err, id])
    const running = await startServer({ store, onError })
    const agent = new UserAgent(running.issuer)
    await agent.authorize(running.issuer, request())
    agent.cookies.set(agent.cookieName('session'), 'x'.repeat(43))
    const page = await agent.authorize(running.issuer, request())
    const [code, id] = reportOn(page.text) ?? []
    assert.deepEqual([page.status, code], [503, 'temporarily_unavailable'])
    const reason = 'a store, a directory or a callback failed'
    assert.deepEqual(refused, [{ id, endpoint: '/authorization', code, status: 503, reason }])
    assert.deepEqual(
      told.map(([err, reported]) => [(err as Error).message, reported]),
      [['the store is away', id]],
    )
  })

  it('what is sent to the app, and JSON, is published under an id as well', async () => {
    const refused = heard({ after }, 'oauth-refused')
    const running = await startServer()
    const agent = new UserAgent(running.issuer)
    await agent.authorize(running.issuer, request({ prompt: 'none' }))
    await post(`${running.issuer}/token`, { grant_type: 'authorization_code', code: 'x', redirect_uri: 'x' }, AS_WEB)
    const told = (refused as OAuthRefusedMessage[]).map(({ endpoint, code, status }) => [endpoint, code, status])
    assert.deepEqual(told, [
      ['/authorization', 'login_required', 303],
      ['/token', 'invalid_grant', 400],
    ])
  })
})

describe('diagnostics channels', () => {
  it('tell of logins, tokens and revocations, without a secret, and OpenTelemetry counts them', async (t) => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
    const provider = new MeterProvider({
      readers: [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })],
    })
    const stop = authorizationMetrics(provider.getMeter('express-tollgate'))
    t.after(() => provider.shutdown())
    const [logins, tokens, revoked] = ['oauth-login', 'oauth-token-issued', 'oauth-revoked'].map((name) =>
      heard({ after }, name),
    )
    const running = await startServer({ loginLimits: { perAccount: 2 } })
    const agent = new UserAgent(running.issuer)

    const page = await agent.authorize(running.issuer, request({ scope: 'openid email' }))
    await page.logIn('ada', 'wrong password')
    const form = await codeForm(running.issuer, { scope: 'openid email' }, agent)
    await (await new UserAgent(running.issuer).authorize(running.issuer, request())).logIn('ada', 'wrong password')
    await (await new UserAgent(running.issuer).authorize(running.issuer, request())).logIn('ada', 'wrong password')
    const issued = await askToken(running.issuer, form)
    await post(`${running.issuer}/revoke`, { token: issued.access_token }, AS_WEB)
    await post(`${running.issuer}/revoke`, { token: issued.refresh_token }, AS_WEB)
    stop()
    await post(`${running.issuer}/token`, { grant_type: 'client_credentials' }, AS_WEB)

    const [{ account, address } = {}] = logins as OAuthLoginMessage[]
    assert.match(`${account} ${address}`, /^[\w-]{22} [\w-]{22}$/, 'hashed')
    assert.deepEqual(logins, [
      { clientId: 'web', outcome: 'failed', userId: undefined, account, address },
      { clientId: 'web', outcome: 'succeeded', userId: 'KWC6-X7D', account, address },
      { clientId: 'web', outcome: 'failed', userId: undefined, account, address },
      { clientId: 'web', outcome: 'locked', userId: undefined, account, address },
    ])
    assert.deepEqual(tokens, [
      { clientId: 'web', grant: 'authorization_code', scope: ['openid', 'email'], bound: false },
      { clientId: 'web', grant: 'client_credentials', scope: [], bound: false },
    ])
    assert.deepEqual(
      (revoked as { what: string }[]).map(({ what }) => what),
      ['token', 'grant'],
    )
    const all = JSON.stringify([logins, tokens, revoked])
    for (const secret of [form.code, issued.access_token, issued.refresh_token, issued.id_token, 'wrong password']) {
      assert.ok(!all.includes(secret as string))
    }

    await provider.forceFlush()
    const metrics = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
    const counted = Object.fromEntries(
      metrics.map(({ descriptor, dataPoints }) => [
        descriptor.name,
        dataPoints.map(({ attributes, value }) =>
          `${Object.values(attributes).map(String).join(' ')} ${value as number}`.trim(),
        ),
      ]),
    )
    assert.deepEqual(counted, {
      'tollgate.oauth.tokens': ['authorization_code 1'],
      'tollgate.oauth.logins': ['failed 2', 'succeeded 1', 'locked 1'],
      'tollgate.oauth.revocations': ['token 1', 'grant 1'],
    })
  })
})
