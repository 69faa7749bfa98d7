import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { sign } from 'jsonwebtoken'
import { type DenialError, type IssuerOptions, requireBearer } from '../../../lib'
import * as providers from '../../../lib/providers'
import { readData } from '../../support/data'
import { generateKeys } from '../../support/generate-keys'

const { publicKey, privateKey } = generateKeys('rsa')
const audience = 'api'
const domain = 'acme.example'

type More = providers.ProviderOptions
type Claims = Record<string, unknown>

/** The cases of presets.spec.ts, by preset: what lets a token in, and what refuses it, must stay so. */
type Case = readonly [title: string, preset: string, claims: Claims, expected: string]
const { presets: CASES } = readData('corpora/preset-cases.json') as { presets: readonly Case[] }

/** Makes the options of a preset, with these of the app. */
function made(preset: string, more: More): IssuerOptions {
  const names = { ...providers, more, domain, audience }
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the table is ours
  const make = new Function(...Object.keys(names), `return ${preset}`) as (...args: unknown[]) => IssuerOptions
  return make(...Object.values(names))
}

const ADDED: Readonly<Record<string, (claims: Claims) => More>> = {
  'required names': (claims) => ({ requiredClaims: Object.keys(claims) }),
  'required values': ({ iss }) => ({ requiredClaims: { iss: String(iss) } }),
  'required names and values': ({ iss }) => ({ requiredClaims: ['iss', { iss: String(iss) }] }),
  checkClaims: () => ({ checkClaims: () => true }),
  'a session': ({ sub, azp }) => ({
    session: () => ({ kind: 'user', userId: (sub ?? 'x') as string, clientId: typeof azp === 'string' ? azp : 'x' }),
  }),
  audience: ({ aud }) => ({ audience: aud as string }),
  'other audiences': ({ aud }) => ({ audience: ['x', aud as string] }),
  'no audience': () => ({ audience: { checkedBy: 'issuer' } }),
  clients: ({ azp = 'evil', client_id = azp, cid = client_id }) => ({ clients: [cid as string, 'evil'] }),
  algorithms: () => ({ algorithms: ['RS256', 'ES256'] }),
  typ: () => ({ typ: 'at+jwt' }),
  'an age': () => ({ maxTokenAgeSec: 31_536_000 }),
  scopes: () => ({ scopeFrom: ['scp', 'roles', 'groups', 'iss'] }),
  'a scope': () => ({ scopeRequired: true, scopeFrom: ['iss'] }),
  times: () => ({ timesAsText: true, clockToleranceSec: 300 }),
  'what is undefined': () => ({
    requiredClaims: undefined,
    checkClaims: undefined,
    session: undefined,
    typ: undefined,
    idTokens: undefined,
  }),
}

const now = Math.floor(Date.now() / 1_000)
const tokens = new Map<string, string>()

/** What the check says to a token, or `throws` if the options contradict each other. */
async function outcome(make: () => IssuerOptions, claims: Claims): Promise<string> {
  let options: IssuerOptions
  let check: ReturnType<typeof requireBearer>['check']
  try {
    options = make()
    ;({ check } = requireBearer({ ...options, warnings: false }))
  } catch {
    return 'throws'
  }
  const all = { iss: [options.issuer].flat()[0], iat: now, exp: now + 600, ...claims }
  const text = JSON.stringify(all)
  const token =
    tokens.get(text) ?? sign(text, privateKey, { algorithm: 'RS256', header: { alg: 'RS256', typ: 'at+jwt' } })
  tokens.set(text, token)
  return check(token).then(
    ({ kind }) => `let in: ${kind}`,
    (err: DenialError) => String(err.reason),
  )
}

describe('what an app adds to a preset makes it stricter', () => {
  const key = { key: publicKey }
  for (const [title, preset, claims, expected] of CASES) {
    const isLetIn = expected.includes(': ')
    const hasClient = ['azp', 'client_id', 'cid'].some((name) => typeof claims[name] === 'string')
    it(title, async () => {
      for (const [what, add] of Object.entries(ADDED)) {
        const iss = [made(preset, key).issuer].flat()[0]
        const got = await outcome(() => made(preset, { ...key, ...add({ iss, ...claims }) }), claims)
        if (isLetIn && what === 'clients' && !hasClient) continue
        if (isLetIn) assert.match(got, /^(let in|throws)/, what)
        else assert.doesNotMatch(got, /^let in/, what)
      }
    })
  }

  it('counts beside the preset’s own', async () => {
    const claims = { sub: 'repo:a/b', environment: 'prod', aud: audience }
    const github = (more: More, changed: Claims) => {
      const preset = () => providers.githubActions({ audience, subjects: ['repo:a/b'], more: { ...key, ...more } })
      return outcome(preset, { ...claims, ...changed })
    }
    assert.equal(await github({ requiredClaims: { environment: 'prod' } }, { environment: 'test' }), 'claim_check')
    assert.equal(await github({ audience: ['second', 'third'] }, {}), 'audience')
    assert.equal(await github({ audience: ['second', 'third'] }, { aud: [audience, 'third'] }), 'let in: client')
    const ofTenants = (tenants: More['tenants']) =>
      providers.entra({ tenants: ['t-1'], audience, more: { ...key, tenants } })
    const iss = 'https://login.microsoftonline.com/t-1/v2.0'
    const user = { iss, tid: 't-1', aud: audience, azp: 'web', sub: 's', oid: 'o', scp: 'read' }
    for (const [tenants, expected] of [
      [['t-2'], 'throws'],
      [() => false, 'issuer'],
      [() => Promise.resolve(false), 'issuer'],
      [() => true, 'let in: user'],
    ] as const)
      assert.equal(await outcome(() => ofTenants(tenants), user), expected)
  })

  it('throws where it would take a check away', () => {
    for (const [, preset] of CASES) {
      if (/^[\w]+\(/.test(preset) && !/more: \{/.test(preset) && !made(preset, {}).idTokens)
        assert.throws(() => made(preset, { idTokens: true }), /more: \{ idTokens: true \} would remove a check/, preset)
    }
    const entra = (more: More) => providers.entra({ tenant: 't-1', audience, more })
    assert.throws(() => entra({ scopeRequired: false }), /more: \{ scopeRequired: false \} would remove/)
    assert.throws(() => entra({ algorithms: ['ES256'] }), /more: \{ algorithms \} has none of the preset's/)
  })
})
