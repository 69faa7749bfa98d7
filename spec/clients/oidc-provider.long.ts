import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { describe, it } from 'node:test'
import { type BearerOptions, sessionOf } from '../../lib'
import { apiOf } from '../bearer/api'
import { serve } from '../support/serve'

const API = 'https://api.test'
const OTHER = 'https://other-api.test'

/** An issuer that runs for real: apps have tokens in their own name, opaque or as JWTs, for an API or for none. */
async function issuerOf(format: 'jwt' | 'opaque') {
  const { default: Provider } = await import('oidc-provider')
  const late: { answer?: RequestListener } = {} // the issuer's name has the port in it
  const { url: issuer } = await serve((req, res) => late.answer?.(req, res))
  const client = (client_id: string, grants: 'client_credentials'[]) => ({
    ...{ client_id, client_secret: `secret-of-${client_id}`, redirect_uris: [], response_types: [] },
    ...{ grant_types: grants, scope: 'read' },
  })
  const provider = new Provider(issuer, {
    clients: [client('app', ['client_credentials']), client('tree-api', [])],
    scopes: ['read'],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_ctx: unknown, audience: string) => ({
          ...{ scope: 'read', audience, accessTokenFormat: format === 'jwt' ? ('jwt' as const) : ('opaque' as const) },
          ...(format === 'jwt' && { jwt: { sign: { alg: 'RS256' as const } } }),
        }),
      },
    },
  })
  const answer = provider.callback()
  late.answer = (req, res) => void answer(req, res)
  const tokenFor = async (resource?: string) => {
    const body = new URLSearchParams({ grant_type: 'client_credentials', scope: 'read', ...(resource && { resource }) })
    const authorization = `Basic ${Buffer.from('app:secret-of-app').toString('base64')}`
    const answer = await fetch(`${issuer}/token`, { method: 'POST', body, headers: { authorization } })
    const said = (await answer.json()) as { access_token?: string }
    return said.access_token ?? assert.fail(JSON.stringify(said))
  }
  const introspection = {
    ...{ endpoint: `${issuer}/token/introspection`, clientId: 'tree-api', clientSecret: 'secret-of-tree-api' },
  }
  return { issuer, tokenFor, introspection }
}

async function asking(options: BearerOptions) {
  const { ask } = await apiOf(options, (req, res) => {
    const { kind, clientId, scope } = sessionOf(req)
    res.json({ kind, clientId, scope })
  })
  return async (token: string) => {
    const answer = await ask(token)
    return answer.status === 200 ? ((await answer.json()) as object) : answer.status
  }
}

/** A machine's answer has no sub (RFC 7662 §2.2). */
const session: BearerOptions['session'] = ({ sub, client_id: app }) =>
  sub === undefined ? { kind: 'client', clientId: String(app) } : { kind: 'user', userId: sub as string }

const SESSION = { kind: 'client', clientId: 'app', scope: ['read'] }

describe('oidc-provider 9', () => {
  it('issues JWTs that are checked by its keys: ours, and not those of another API', async () => {
    const { issuer, tokenFor } = await issuerOf('jwt')
    const ask = await asking({ issuer, audience: API })
    const own = await tokenFor(API)
    assert.equal(own.split('.').length, 3)
    assert.deepEqual(await ask(own), SESSION)
    assert.equal(await ask(await tokenFor(OTHER)), 401)
    assert.equal(await ask(await tokenFor()), 401) // without a resource it is opaque
  })

  it('issues JWTs that it says nothing about: by introspection they are inactive', async () => {
    const { issuer, tokenFor, introspection } = await issuerOf('jwt')
    const ask = await asking({ issuer, audience: API, introspection })
    assert.equal(await ask(await tokenFor(API)), 401)
  })

  it('issues opaque tokens, which introspection tells apart by aud', async () => {
    const { issuer, tokenFor, introspection } = await issuerOf('opaque')
    const ask = await asking({ issuer, audience: API, introspection, session })
    assert.deepEqual(await ask(await tokenFor(API)), SESSION)
    assert.equal(await ask(await tokenFor(OTHER)), 401)
    assert.equal(await ask(await tokenFor()), 401) // for no API: no aud
    assert.equal(await ask('made-up'), 401)
    const lenient = await asking({ issuer, audience: { checkedBy: 'introspection' }, introspection, session })
    assert.deepEqual(await lenient(await tokenFor()), SESSION)
  })

  it('has both kinds checked by one API: JWTs by keys, opaque ones by introspection', async () => {
    const { issuer, tokenFor, introspection } = await issuerOf('jwt')
    const ask = await asking({
      issuers: [
        { issuer, audience: API },
        { issuer, audience: { checkedBy: 'clients' }, clients: ['app'], introspection, session },
      ],
    })
    assert.deepEqual(await ask(await tokenFor(API)), SESSION)
    assert.equal(await ask(await tokenFor(OTHER)), 401)
    assert.deepEqual(await ask(await tokenFor()), SESSION)
  })
})
