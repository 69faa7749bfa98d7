import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BearerOptions, DenialError, IssuerOptions, KeyMaterial } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { until } from '../../support/until'
import { tenantPattern } from '../../../lib/bearer/claims/tenants'
import { tenantKeys } from '../../../lib/bearer/issuers/tenant-keys'
import { staticKeys } from '../../../lib/bearer/keys/key-source'
import { type VerifyKey, keyFromJwk } from '../../../lib/bearer/keys/verify-key'
import { keyPair, serveIssuer } from '../../support/issuer'
import { api } from '../remote-issuer'

const keys = { acme: keyPair('acme-1'), ajax: keyPair('ajax-1') }
type Tenant = keyof typeof keys

/** An issuer whose tenants have metadata and keys of their own, and an API for them. */
async function tenants(options: Pick<IssuerOptions, 'tenants'>) {
  const served = await serveIssuer(keys.acme)
  const { state, issuer } = served
  const serving = new Set<string>(['acme', 'ajax'])
  state.instead = (req, res) => {
    const [, tenant, path] = /^\/(\w+)\/(.+)$/.exec(req.url as string) ?? []
    if (tenant === undefined || !serving.has(tenant)) return false
    const own = `${issuer}/${tenant}`
    const { jwk } = keys[tenant as Tenant]
    const metadata = { issuer: own, jwks_uri: `${own}/keys` }
    res.end(JSON.stringify(path === 'keys' ? { keys: [jwk] } : metadata))
    return true
  }
  const { bearer, ask } = await api({ issuer: `${issuer}/{tid}`, ...options })
  const token = (tenant: string, key: Tenant, tid: unknown = tenant) =>
    served.token({ ...keys[key], kid: keys[tenant as Tenant]?.kid ?? 'k' }, { iss: `${issuer}/${tenant}`, tid })
  const status = async (...of: Parameters<typeof token>) => (await ask(token(...of))).status
  const shown = () => bearer.keys().map(({ issuer: name, kid }) => [name.replace(issuer, ''), kid])
  return { state, issuer, serving, bearer, status, shown }
}

describe('requireBearer() with an issuer of many tenants, each with keys of its own', () => {
  it('checks a token with the keys of the tenant that both iss and the claim name', async () => {
    const { status } = await tenants({ tenants: ['acme', 'ajax'] })
    assert.equal(await status('acme', 'acme'), 200)
    assert.equal(await status('ajax', 'ajax'), 200)
    assert.equal(await status('acme', 'ajax'), 401) // the other tenant's key
    assert.equal(await status('acme', 'acme', 'ajax'), 401)
    assert.equal(await status('acme', 'acme', null), 200) // iss alone names it, as with Keycloak's realms
    assert.equal(await status('other', 'acme'), 401)
    assert.equal(await status('', 'acme'), 401)
    assert.equal(await status('acme/x', 'acme'), 401)
  })

  it('has the keys of all listed tenants ready, shows and reloads them', async () => {
    const { state, issuer, serving, bearer, shown, status } = await tenants({ tenants: ['acme', 'ajax'] })
    assert.deepEqual(shown(), [])
    await bearer.ready()
    const both = [
      ['/acme', 'acme-1'],
      ['/ajax', 'ajax-1'],
    ]
    assert.deepEqual(shown(), both)
    const before = keys.ajax
    keys.ajax = keyPair('ajax-2')
    assert.equal(await status('acme', 'acme'), 200)
    state.fetches.length = 0
    await bearer.reload()
    assert.deepEqual(new Set(state.fetches), new Set(['/acme/keys', '/ajax/keys']))
    assert.deepEqual(new Map(shown() as [string, string][]).get('/ajax'), 'ajax-2')
    keys.ajax = before
    serving.delete('ajax')
    await assert.rejects(bearer.reload(), ({ message }: Error) => {
      return message.startsWith(
        `the keys of the issuer ${issuer}/ajax cannot be loaded: ${issuer}/ajax/keys answered 404`,
      )
    })
    assert.deepEqual(shown().length, 2) // the keys known before remain valid
  })

  it('knows of a function’s tenants those whose tokens have come', async () => {
    const { state, bearer, shown, status } = await tenants({ tenants: (name) => name !== 'ajax' })
    await bearer.ready()
    assert.deepEqual([shown(), state.fetches], [[], []])
    assert.equal(await status('acme', 'acme'), 200)
    assert.equal(await status('ajax', 'ajax'), 401)
    assert.equal(await status('nowhere', 'acme'), 503) // there is no such tenant, whoever says so
    assert.deepEqual(shown(), [['/acme', 'acme-1']])
    state.fetches.length = 0
    await bearer.ready()
    await bearer.reload()
    assert.deepEqual(state.fetches, ['/acme/keys'])
  })
})

it('requireBearer() has keys at one address for all tenants fetched once', async () => {
  const { state, issuer, token } = await serveIssuer(keys.acme)
  const { ask, bearer } = await api({
    issuer: `${issuer}/{tid}`,
    tenants: ['acme', 'ajax'],
    jwksUri: `${issuer}/keys`,
  })
  for (const tid of ['acme', 'ajax']) {
    assert.equal((await ask(token(keys.acme, { iss: `${issuer}/${tid}`, tid }))).status, 200)
  }
  assert.deepEqual(state.fetches, ['/keys'])
  assert.equal(bearer.keys().length, 1)
})

it('requireBearer() takes a key that names its issuer for that issuer only, {tenantid} being any tenant', async () => {
  const { token } = await serveIssuer(keys.acme)
  const iss = 'https://as.test/acme/v2'
  for (const [named, ofTenants, ofOne] of [
    [undefined, 200, 200],
    [7, 200, 200],
    [iss, 200, 200],
    ['https://as.test/ajax/v2', 401, 401],
    ['https://as.test/{tenantid}/v2', 200, 200],
    ['https://as.test/{tenantid}/v1', 401, 401],
    ['https://other.test/{tenantid}/v2', 401, 401],
    ['https://as.test/{tenantid}2', 401, 200],
  ] as const) {
    const jwk = { ...keys.acme.jwk, ...(named !== undefined && { issuer: named }) } as unknown as KeyMaterial
    const one = await api({ issuer: iss, keys: [jwk] })
    const all = await api({ issuer: 'https://as.test/{tid}/v2', tenants: ['acme', 'ajax'], keys: [jwk] })
    const presented = token(keys.acme, { iss, tid: 'acme' })
    assert.deepEqual(
      [(await all.ask(presented)).status, (await one.ask(presented)).status],
      [ofTenants, ofOne],
      String(named),
    )
  }
})

describe('requireBearer({ tenants }) with a function', () => {
  const realms = async (options: Partial<BearerOptions>) => {
    const served = await serveIssuer(keys.acme)
    const realm = `${served.issuer}/realms/{realm}`
    const { ask } = await api({
      issuer: realm,
      jwksUri: `${served.issuer}/keys`,
      warnings: false,
      ...options,
    })
    const status = async (name: string, claims: object = {}) =>
      (await ask(served.token(keys.acme, { iss: realm.replace('{realm}', name), ...claims }))).status
    return { ...served, status }
  }

  it('asks it for every request, and may be answered later', async () => {
    const known = new Set(['acme'])
    for (const tenants of [(name: string) => known.has(name), (name: string) => Promise.resolve(known.has(name))]) {
      const { status } = await realms({ tenants })
      assert.deepEqual([await status('acme'), await status('acme'), await status('ajax')], [200, 200, 401])
      known.delete('acme')
      assert.equal(await status('acme'), 401) // the same token, which is known
      known.add('acme')
      assert.equal(await status('acme'), 200)
    }
  })

  it('answers 503 where it fails, and refuses what is not true', async () => {
    const fail = (): boolean => {
      throw new Error('database')
    }
    for (const tenants of [fail, () => Promise.reject<boolean>(new Error('database'))]) {
      assert.equal(await (await realms({ tenants })).status('acme'), 503)
    }
    for (const answer of [1, 'yes', undefined, Promise.resolve('yes')]) {
      assert.equal(await (await realms({ tenants: () => answer as never })).status('acme'), 401)
    }
  })

  it('has keys at an address with the placeholder, for each tenant its own', async () => {
    const issuer = 'https://sso.test'
    const own = await serveIssuer(keys.acme)
    own.state.instead = (req, res) => {
      if (req.url !== '/inner/acme/certs') return false
      res.end(JSON.stringify({ keys: [keys.acme.jwk] }))
      return true
    }
    const { ask } = await api({
      issuer: `${issuer}/realms/{realm}`,
      tenants: ['acme', 'ajax'],
      jwksUri: `${own.issuer}/inner/{realm}/certs`,
    })
    const token = (name: string) => own.token(keys.acme, { iss: `${issuer}/realms/${name}` })
    assert.deepEqual([(await ask(token('acme'))).status, (await ask(token('ajax'))).status], [200, 503])
    assert.deepEqual(own.state.fetches, ['/inner/acme/certs', '/inner/ajax/certs'])
  })

  it('discovers at most 12 tenants at once that one block names, whatever tokens say', async () => {
    const clock = manualClock()
    const served = await serveIssuer(keys.acme)
    const held: (() => void)[] = []
    served.state.instead = (_req, res) => held.push(() => res.writeHead(404).end()) > 0
    const { bearer } = await api({ issuer: `${served.issuer}/{tid}`, tenants: () => true, clock, warnings: false })
    const reasons: string[] = []
    const made = Array.from({ length: 300 }, (_, i) =>
      served.token(keys.acme, { iss: `${served.issuer}/made-up-${i}` }),
    )
    const asked = made.map((token) =>
      bearer.check(token).catch((err: DenialError) => void reasons.push(String(err.reason))),
    )
    await until(() => held.length, 12)
    clock.advance(100)
    await until(() => reasons.length, 288)
    assert.equal(held.length, 12)
    assert.deepEqual(new Set(reasons), new Set(['keys_unavailable']))
    const end = setInterval(() => held.splice(0).forEach((answer) => answer()), 1)
    await Promise.all(asked)
    clearInterval(end)
  })
})

describe('tenantKeys()', () => {
  const made: string[] = []
  const { jwk } = keyPair('a')
  let loaded: readonly VerifyKey[] = []
  const keysOf = (tenant: string) => {
    made.push(tenant)
    return staticKeys(loaded)
  }
  const keysFor = (accepted: IssuerOptions['tenants']) => {
    const pattern = tenantPattern(['https://as.test/{tid}'], accepted)
    assert.ok(pattern)
    return tenantKeys(pattern, 'https://as.test/{tid}', keysOf)
  }

  it('keeps the keys of the thousand tenants used last', () => {
    const issuer = keysFor(() => true)
    assert.deepEqual(made.splice(0), ['tenant']) // what is wrong for every tenant is said at startup
    const first = issuer.of('first')
    issuer.of('second')
    for (let i = 0; i < 998; i++) issuer.of(`t${i}`)
    assert.equal(issuer.of('first'), first) // used last
    issuer.of('one-more')
    made.length = 0
    assert.equal(issuer.of('first'), first)
    issuer.of('second') // it made room
    assert.deepEqual(made.splice(0), ['second'])
    loaded = [keyFromJwk(jwk, ['ES256'])]
    for (let i = 0; i < 1_001; i++) issuer.of(`loaded-${i}`)
    loaded = []
    made.length = 0
    for (const tenant of ['new', 'new', 'loaded-1000', 'loaded-2']) issuer.of(tenant) // the new one stays, too
    assert.deepEqual(made.splice(0), ['new'])
  })

  it('keeps those of all listed tenants, however many they are', () => {
    const names = Array.from({ length: 1_001 }, (_, i) => `t${i}`)
    const issuer = keysFor(names)
    assert.equal(made.splice(0).length, 1_001)
    for (const name of names) issuer.of(name)
    assert.deepEqual(made, [])
    assert.deepEqual(
      issuer.known().map((one) => one.issuer),
      names.map((name) => `https://as.test/${name}`),
    )
  })
})
