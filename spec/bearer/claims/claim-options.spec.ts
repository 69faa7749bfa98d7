import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import express from 'express'
import { type BearerOptions, type ReadSession, requireBearer, sessionOf } from '../../../lib'
import { devIssuer } from '../../../lib/testing'
import { serve } from '../../support/serve'

const dev = devIssuer()

/** An API with these options beside the issuer and its key; answers with the status and the reason, or the session. */
async function asking(options: object) {
  const onDenied: BearerOptions['onDenied'] = (err, _req, res) => void res.status(err.status).json(err.reason)
  const app = express()
  app.use(requireBearer({ ...dev.options, ...options, onDenied }))
  app.use((req, res) => {
    const { scope, ...session } = sessionOf(req)
    res.json([session.kind === 'user' ? session.userId : session.kind, session.clientId, ...scope])
  })
  const { url } = await serve(app)
  return async (claims: Record<string, unknown>) => {
    const authorization = `Bearer ${dev.token('ada', { clientId: 'app', claims })}`
    const answer = await fetch(url, { headers: { authorization } })
    const body: unknown = await answer.json()
    return answer.status === 200 ? body : [answer.status, body]
  }
}

const ADA = ['ada', 'app']

describe('requireBearer({ clients })', () => {
  it('takes tokens of these clients alone, by client_id, azp, cid or appid, the first that is there', async () => {
    const ask = await asking({ clients: ['app', 'web'] })
    const none = { client_id: undefined }
    assert.deepEqual(await ask({}), ADA)
    assert.deepEqual(await ask({ client_id: 'other' }), [401, 'client'])
    assert.deepEqual(await ask(none), [401, 'client'])
    for (const [claims, status] of [
      [{ azp: 'web' }, 200],
      [{ cid: 'web' }, 200],
      [{ appid: 'web' }, 200],
      [{ azp: 'other', cid: 'web' }, 401],
      [{ cid: 'other', appid: 'web' }, 401],
      [{ appid: 'other' }, 401],
      [{ azp: ['web'] }, 401],
    ] as const) {
      const answer = (await ask({ ...none, ...claims })) as unknown[]
      assert.equal(answer[0] === 401, status === 401, JSON.stringify(claims))
    }
    assert.deepEqual(await ask({ client_id: 'other', azp: 'app', cid: 'app', appid: 'app' }), [401, 'client'])
  })

  it('in place of aud, where audience says so', async () => {
    const ask = await asking({ audience: { checkedBy: 'clients' }, clients: ['app'] })
    assert.deepEqual(await ask({ aud: undefined }), ADA)
    assert.deepEqual(await ask({ aud: 'another-api' }), ADA)
    assert.deepEqual(await ask({ aud: undefined, client_id: 'web' }), [401, 'client'])
    const byKeys = await asking({ audience: { checkedBy: 'issuer' } })
    assert.deepEqual(await byKeys({ aud: undefined }), ADA)
  })
})

describe('requireBearer() refuses tokens for others than APIs', () => {
  const others = [
    { token_type: 'refresh' }, // Django's SimpleJWT, with the key of its access tokens
    { type: 'refresh' }, // Flask-JWT-Extended
    { token_use: 'refresh_token' }, // Ory Hydra
    { typ: 'Offline' }, // Keycloak
    { token_type: 'urn:ietf:params:oauth:token-type:refresh_token' }, // RFC 8693 §3
    { typ: 'logout+jwt' },
  ]
  const ids = [
    ...[{ token_use: 'id' }, { typ: 'ID' }, { token_type: 'id_token' }],
    { token_type: 'urn:ietf:params:oauth:token-type:id_token' },
  ]
  const fine = [
    { token_use: 'access' },
    { token_use: 'access_token' },
    { typ: 'Bearer' },
    { token_type: 'Bearer' },
    { type: ['refresh'] },
    { type: {} },
  ]

  it('by the claims that issuers mark them with', async () => {
    const ask = await asking({})
    for (const claims of [...others, ...ids]) assert.deepEqual(await ask(claims), [401, 'token_type'])
    for (const claims of fine) assert.deepEqual(await ask(claims), ADA)
    assert.deepEqual(await ask({ type: { toString: 7, valueOf: 7 } }), ADA)
  })

  it('and takes ID tokens where idTokens says so', async () => {
    const ask = await asking({ idTokens: true })
    for (const claims of ids) assert.deepEqual(await ask(claims), ADA)
    for (const claims of others) assert.deepEqual(await ask(claims), [401, 'token_type'])
  })
})

describe('requireBearer({ requiredClaims }) with values', () => {
  it('takes tokens that have each claim with its value, or one of its values', async () => {
    const ask = await asking({ requiredClaims: { token_use: 'access', level: [1, 2], staff: true } })
    const good = { token_use: 'access', level: 2, staff: true }
    assert.deepEqual(await ask(good), ADA)
    assert.deepEqual(await ask({ ...good, level: 1 }), ADA)
    assert.deepEqual(await ask({ ...good, token_use: 'id' }), [401, 'claim_check'])
    assert.deepEqual(await ask({ ...good, level: 3 }), [401, 'claim_check'])
    assert.deepEqual(await ask({ ...good, level: '1' }), [401, 'claim_check'])
    assert.deepEqual(await ask({ ...good, staff: 'true' }), [401, 'claim_check'])
    assert.deepEqual(await ask({ ...good, token_use: undefined }), [401, 'required_claim'])
    const inherited = await asking({ requiredClaims: ['toString'] })
    assert.deepEqual([await inherited({}), await inherited({ toString: 'x' })], [[401, 'required_claim'], ADA])
  })
})

describe('requireBearer({ timesAsText })', () => {
  const text = (offsetSec: number) => String(Math.floor(Date.now() / 1_000) + offsetSec)

  it('takes exp, nbf and iat as decimal text, and checks them all the same', async () => {
    const ask = await asking({ timesAsText: true, maxTokenAgeSec: 60 })
    assert.deepEqual(await ask({ exp: text(60), nbf: text(-60), iat: text(-30) }), ADA)
    assert.deepEqual(await ask({}), ADA) // numbers, too
    assert.deepEqual(await ask({ exp: text(-60) }), [401, 'expired'])
    assert.deepEqual(await ask({ nbf: text(60) }), [401, 'not_yet_valid'])
    assert.deepEqual(await ask({ iat: text(-90) }), [401, 'too_old'])
    for (const exp of ['', ' 1800000000', '1800000000.5', '1e10', `-${text(60)}`, '0x7fffffff', '1'.repeat(13), 'x'])
      assert.deepEqual(await ask({ exp }), [401, 'expiry'], exp)
    assert.deepEqual(await ask({ iat: `${text(0)} ` }), [401, 'issued_at'])
  })

  it('takes none without it', async () => {
    assert.deepEqual(await (await asking({}))({ exp: text(60) }), [401, 'expiry'])
  })
})

describe('requireBearer({ scopeFrom })', () => {
  it('takes the scopes from all the claims, within others too', async () => {
    const ask = await asking({ scopeFrom: ['permissions', ['realm_access', 'roles'], 'scope'] })
    const realm_access = { roles: ['reader', 'two words'] }
    assert.deepEqual(await ask({ permissions: ['p'], realm_access, scope: 's' }), [
      ...ADA,
      'p',
      'reader',
      'two words',
      's',
    ])
    assert.deepEqual(await ask({ realm_access: 'x', scope: 's t' }), [...ADA, 's', 't'])
    assert.deepEqual(await ask({ realm_access: null, scope: 's' }), [...ADA, 's'])
    assert.deepEqual(await ask({ realm_access: {}, scope: 's' }), [...ADA, 's'])
    assert.deepEqual(await ask({ permissions: 7, scope: 's p s' }), [...ADA, 's', 'p'])
    assert.deepEqual(await ask({ scp: 's' }), ADA)
  })

  it('keeps roles as they are, and OAuth scopes as RFC 6749 §3.3 has them', async () => {
    const ask = await asking({ scopeFrom: ['roles', ['app', 'groups'], 'scope'] })
    const kept = ['Team Lead', 'Geschäftsführung', 'ACME\\Admins', 'CN=Ops,OU="x"', '管理者']
    const roles = [...kept, 'Team Lead', '', 7, 'a\nb', null]
    assert.deepEqual(await ask({ roles }), [...ADA, ...kept])
    assert.deepEqual(await ask({ app: { groups: roles } }), [...ADA, ...kept])
    assert.deepEqual(await ask({ roles: 'Team Lead' }), [...ADA, 'Team Lead']) // as ADFS writes a single one
    assert.deepEqual(await ask({ scope: ['a', 'Team Lead', 'é'] }), [...ADA, 'a'])
    assert.deepEqual(await ask({ scope: 'Team Lead é' }), [...ADA, 'Team', 'Lead'])
  })

  it('takes the names of an object for roles, unless their value says otherwise', async () => {
    const ask = await asking({ scopeFrom: ['urn:zitadel:iam:org:project:7:roles', 'scope'] })
    const roles = { admin: { 42: 'acme.example' }, 'Team Lead': true, 'a\nb': true, '': true }
    const none = { a: false, b: null, c: {}, d: [], e: 0, f: '', g: 1 }
    assert.deepEqual(await ask({ 'urn:zitadel:iam:org:project:7:roles': { ...roles, ...none } }), [
      ...ADA,
      'admin',
      'Team Lead',
    ])
    assert.deepEqual(await ask({ scope: { admin: true } }), ADA) // OAuth scopes are no object
  })

  it('takes no claim that every object has', async () => {
    const ask = await asking({ scopeFrom: [['constructor', 'name'], 'toString', 'scope'] })
    assert.deepEqual(await ask({ scope: 's' }), [...ADA, 's'])
  })

  it('rejects tokens that carry no scope with 403, with scopeRequired', async () => {
    const ask = await asking({ scopeFrom: ['roles'], scopeRequired: true })
    assert.deepEqual(await ask({ roles: ['r'] }), [...ADA, 'r'])
    assert.deepEqual(await ask({ scope: 's' }), [403, 'scope'])
    assert.deepEqual(await ask({ roles: [] }), [403, 'scope'])
  })
})

describe('requireBearer() and claims that are null', () => {
  it('counts them as absent, whichever they are', async () => {
    const ask = await asking({})
    for (const name of ['nbf', 'iat', 'jti', 'cnf', 'azp', 'session_kind', 'scope', 'at_hash', 'auth_time', 'typ']) {
      assert.deepEqual(await ask({ [name]: null }), ADA, name)
    }
    assert.deepEqual(await ask({ client_id: null, azp: 'app' }), ADA)
    assert.deepEqual(await ask({ scope: null, scp: 'a' }), [...ADA, 'a'])
    for (const [name, reason] of [
      ['iss', 'issuer'],
      ['aud', 'audience'],
      ['exp', 'expiry'],
      ['sub', 'subject'],
    ] as const) {
      assert.deepEqual(await ask({ [name]: null }), [401, reason])
    }
    assert.deepEqual(await (await asking({ maxTokenAgeSec: 60 }))({ iat: null }), [401, 'issued_at'])
    assert.deepEqual(await (await asking({ requiredClaims: ['tid'] }))({ tid: null }), [401, 'required_claim'])
    assert.deepEqual(await (await asking({ clients: ['web'] }))({ client_id: null, cid: 'web' }), ['ada', ''])
  })
})

describe('requireBearer({ session })', () => {
  it('decides alone, whatever sub is', async () => {
    const session = ({ user_id }: { user_id?: string }) => user_id && { kind: 'user', userId: user_id }
    const ask = await asking({ session, audience: { checkedBy: 'issuer' } })
    for (const sub of [undefined, 42, null, '', 'x'.repeat(1_025), ['a'], { a: 1 }, true, 'undefined']) {
      assert.deepEqual(await ask({ sub, user_id: 'eve', jti: 7 }), ['eve', ''], JSON.stringify(sub))
      assert.deepEqual(await ask({ sub }), [401, 'subject'])
    }
  })

  it('has a sub of its own making where the token has none that could be one', async () => {
    const app = express().use(requireBearer({ ...dev.options, session: () => ({ kind: 'user', userId: 'eve' }) }))
    const { url } = await serve(app.use((req, res) => void res.end(sessionOf(req).sub)))
    for (const [sub, shown] of [
      ['', 'eve'],
      [42, 'eve'],
      ['ada', 'ada'],
    ] as const) {
      const authorization = `Bearer ${dev.token('ada', { claims: { sub } })}`
      assert.equal(await (await fetch(url, { headers: { authorization } })).text(), shown)
    }
  })

  const returning = async (identity: unknown) => (await asking({ session: () => identity }))({ scope: 'of the token' })
  const user: ReturnType<ReadSession> = { kind: 'user', userId: 'eve', clientId: 'app' }

  it('says whose session it is, and may say its scopes', async () => {
    assert.deepEqual(await returning(user), ['eve', 'app', 'of', 'the', 'token'])
    assert.deepEqual(await returning({ ...user, scope: ['a', 'b'] }), ['eve', 'app', 'a', 'b'])
    assert.deepEqual(await returning({ ...user, scope: [] }), ['eve', 'app'])
    assert.deepEqual(await returning({ kind: 'client', clientId: 'job' }), ['client', 'job', 'of', 'the', 'token'])
  })

  it('refuses the token where it names nobody, or no session', async () => {
    for (const nobody of [
      undefined,
      null,
      { ...user, userId: undefined },
      { ...user, userId: '' },
      { ...user, userId: NaN },
    ])
      assert.deepEqual(await returning(nobody), [401, 'subject'])
    for (const text of ['undefined', 'null', 'NaN', '[object Object]', '\ud800', 'a\udc00'])
      assert.deepEqual(await returning({ ...user, userId: text }), [401, 'subject'], text)
    for (const clientId of ['', 'undefined', 7, 'a\udc00']) {
      assert.deepEqual(await returning({ ...user, clientId }), [401, 'client'])
      for (const kind of ['client', 'unauthenticated'])
        assert.deepEqual(await returning({ kind, clientId }), [401, 'client'])
    }
    assert.deepEqual(await returning({ kind: 'client' }), [401, 'client'])
    for (const none of ['eve', 7, {}, { kind: 'root', userId: 'eve' }])
      assert.deepEqual(await returning(none), [401, 'session_kind'])
    assert.deepEqual(await returning({ ...user, scope: ['a', 'b c'] }), ['eve', 'app', 'a', 'b c'])
    for (const scope of ['a b', ['a', ''], ['a', 7], ['a\n'], null, {}])
      assert.deepEqual(await returning({ ...user, scope }), [401, 'session_kind'], JSON.stringify(scope))
  })
})

describe('requireBearer({ tenants }) with keys for all of them', () => {
  const ask = (options: object) => asking({ issuer: 'https://as.test/{tid}/v2', ...options })
  const from = (tenant: string, tid: unknown = tenant) => ({ iss: `https://as.test/${tenant}/v2`, tid })

  it('takes tokens of a tenant accepted, whom iss names, and the claim where it is there', async () => {
    const listed = await ask({ tenants: ['acme', 'a.b_c-1'] })
    assert.deepEqual(await listed(from('acme')), ADA)
    assert.deepEqual(await listed(from('a.b_c-1')), ADA)
    assert.deepEqual(await listed(from('acme', 'a.b_c-1')), [401, 'issuer'])
    assert.deepEqual(await listed({ ...from('acme'), tid: undefined }), ADA)
    assert.deepEqual(await listed({ ...from('ajax'), tid: undefined }), [401, 'issuer'])
    for (const iss of [
      ...['https://as.test/ajax/v2', 'https://as.test/acme/v2/', 'https://as.test/acme', 'https://as.test//v2'],
      ...['https://as.test/{tid}/v2', 'https://as.test/acme/v2?x', 'https://as.test/v2', 'x'.repeat(40)],
      ...['https://other.as.test/acme/v2', 'https://as.test/acme/x/v2', 'https://as.test/ACME/v2'],
    ]) {
      assert.deepEqual(await listed({ iss, tid: 'acme' }), [401, 'issuer'], iss)
    }
  })

  it('asks a function only about names that are one segment of a path', async () => {
    const asked: string[] = []
    const known = await ask({ tenants: (name: string) => asked.push(name) > 0 })
    for (const name of ['a/b', '..', '%2e', 'a b', 'x'.repeat(129), '']) {
      assert.deepEqual(await known(from(name)), [401, 'issuer'], name)
    }
    assert.deepEqual(asked, [])
  })
})
