import assert from 'node:assert/strict'
import { createHmac, sign as signBytes } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import express from 'express'
import { type BearerOptions, type IssuerOptions, requireBearer, sessionOf } from '../../../lib'
import { page } from '../../support/markdown'
import { serve } from '../../support/serve'
import { readData } from '../../support/data'
import { generateKeys } from '../../support/generate-keys'

interface Case {
  readonly id: string
  readonly header: { readonly alg: string; readonly kid?: string } | null
  readonly claims: Record<string, unknown> | null
  readonly token?: string
  readonly signature?: 'invalid' | 'empty'
  readonly recipe: { readonly issuer: string | string[]; readonly audience: unknown; readonly requirements: string }
  readonly expect: {
    readonly status: number
    readonly session: { kind: string; userId: string | null; clientId: string | null; scopes: string[] } | null
    readonly reason: string | null
  }
}

/** The recipe of docs/providers.md that a case is for, where it is not the one that its id begins with. */
function recipeOf({ id, recipe: { issuer, audience, requirements } }: Case): string {
  if (id === 'auth0-other-org') return 'auth0-organization'
  if (requirements.includes('firebase.tenant')) return 'firebase-tenant'
  if (id.startsWith('entra')) {
    if (requirements.includes('multi-tenant')) return 'entra-tenants'
    if (String(issuer).includes('ciamlogin.com')) return 'entra-external'
    return String(issuer).includes('sts.windows.net') ? 'entra-v1' : 'entra'
  }
  if (id.startsWith('clerk-both')) return 'clerk-both'
  if (id.startsWith('supabase-both')) return 'supabase-both'
  if (id.startsWith('clerk')) return audience === null ? 'clerk' : 'clerk-machine'
  if (id === 'google-user-signin-as-credential') return 'google-users'
  if (id.startsWith('workos')) return id.startsWith('workos-session') ? 'workos-session' : 'workos-connect'
  if (id === 'quirk-exp-text') return 'auth0'
  return id.split('-')[0] as string
}

const METADATA = '/.well-known/openid-configuration'
/** The legacy JWT secret of the Supabase recipe. */
const LEGACY_SECRET = 'the legacy JWT secret, from the environment'
/** Where each recipe has its keys from: their address, or that of the metadata that say it. */
const FETCHED: Readonly<Record<string, string>> = {
  auth0: `https://acme.eu.auth0.com${METADATA}`,
  'auth0-organization': `https://acme.eu.auth0.com${METADATA}`,
  okta: `https://acme.okta.com/oauth2/default${METADATA}`,
  entra: `https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0${METADATA}`,
  'entra-v1': `https://sts.windows.net/72f988bf-86f1-41af-91ab-2d7cd011db47${METADATA}`,
  'entra-tenants': 'https://login.microsoftonline.com/common/discovery/v2.0/keys',
  'entra-external': `https://72f988bf-86f1-41af-91ab-2d7cd011db47.ciamlogin.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0${METADATA}`,
  cognito: 'https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbCdEfGhI/.well-known/jwks.json',
  keycloak: `https://sso.example.org/realms/acme${METADATA}`,
  google: 'https://www.googleapis.com/oauth2/v3/certs',
  'google-users': 'https://www.googleapis.com/oauth2/v3/certs',
  clerk: `https://clerk.acme.example${METADATA}`,
  'clerk-both': `https://clerk.acme.example${METADATA}`,
  'clerk-machine': `https://clerk.acme.example${METADATA}`,
  'supabase-both': 'https://abcdefghijklmnopqrst.supabase.co/auth/v1/.well-known/jwks.json',
  adfs: 'https://adfs.acme.example/adfs/discovery/keys',
  b2c: 'https://acme.b2clogin.com/acme.onmicrosoft.com/B2C_1_sign_in/discovery/v2.0/keys',
  supabase: 'https://abcdefghijklmnopqrst.supabase.co/auth/v1/.well-known/jwks.json',
  firebase: 'https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com',
  'firebase-tenant': 'https://www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com',
  zitadel: `https://acme-x1y2z3.zitadel.cloud${METADATA}`,
  hydra: `https://acme.projects.oryapis.com${METADATA}`,
  logto: 'https://acme.logto.app/oidc/jwks',
  github: `https://token.actions.githubusercontent.com${METADATA}`,
  k8s: 'https://cluster.example.org/openid/v1/jwks',
  authentik: `https://auth.example.org/application/o/tree${METADATA}`,
  'workos-session': 'https://api.workos.com/sso/jwks/client_123456789',
  'workos-connect': `https://acme.authkit.app${METADATA}`,
  fusionauth: 'https://auth.acme.com/.well-known/jwks.json',
  descope: 'https://api.descope.com/v2/keys/P2abcDEFghiJKLmnoPQRstuVWX',
  stytch: 'https://api.stytch.com/v1/sessions/jwks/project-live-3e71d0a1-1e3e-4ee2-9be0-d7c0900f02c2',
  kinde: `https://acme.kinde.com${METADATA}`,
}

/** What the case asks for beside the recipe. */
function besides({ id, recipe: { issuer, audience, requirements } }: Case): Partial<BearerOptions> {
  if (requirements.includes('needs the app role')) return { scope: 'Tree.Read.All' }
  if (id === 'entra-graph') return { audience: audience as string }
  if (id === 'k8s-legacy-secret-configured' || id === 'stytch-connected-app-id-token') return { issuer: issuer }
  return {}
}

const rsa = generateKeys('rsa')
const p256 = generateKeys('ec')
const p384 = generateKeys('ec', 'P-384')
const pairs: Readonly<Record<string, typeof rsa>> = { RS256: rsa, RS512: rsa, ES256: p256, ES384: p384 }

function timed(claims: unknown, nowSec: number): unknown {
  if (Array.isArray(claims)) return claims.map((one) => timed(one, nowSec))
  if (typeof claims === 'object' && claims !== null) {
    return Object.fromEntries(Object.entries(claims).map(([name, value]) => [name, timed(value, nowSec)]))
  }
  const [, form, offset] = /^(\$text\(|\$ms\()?\$now([+-]\d+)\)?$/.exec(String(claims)) ?? []
  if (offset === undefined) return claims
  const sec = nowSec + Number(offset)
  return form === '$text(' ? String(sec) : form === '$ms(' ? sec * 1_000 : sec
}

function tokenOf({ header, claims, token, signature }: Case): string {
  if (!header) return token as string
  const nowSec = Math.floor(Date.now() / 1_000)
  const input = [header, timed(claims, nowSec)]
    .map((p) => Buffer.from(JSON.stringify(p)).toString('base64url'))
    .join('.')
  if (signature === 'empty') return `${input}.`
  return `${input}.${signatureOf(input, header.alg, signature === 'invalid').toString('base64url')}`
}

function signatureOf(input: string, alg: string, invalid: boolean): Buffer {
  const bytes = Buffer.from(invalid ? `${input}x` : input)
  if (alg === 'HS256')
    return createHmac('sha256', invalid ? 'anybody' : LEGACY_SECRET)
      .update(bytes)
      .digest()
  const { privateKey } = pairs[alg] as typeof rsa
  return signBytes(`sha${alg.slice(2)}`, bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' })
}

/** The issuer's keys, with the kid of the case's token; Microsoft's name the issuer that they are for. */
function keysOf({ header, recipe: { requirements } }: Case): object[] {
  const pair = pairs[header?.alg ?? 'RS256'] ?? rsa
  const issuer = /the signing key's JWK says issuer \.\.\.(\S+)/.exec(requirements)?.[1]
  const jwk = { ...pair.publicKey.export({ format: 'jwk' }), kid: header?.kid ?? 'k', use: 'sig' }
  return [{ ...jwk, ...(issuer && { issuer: `https://login.microsoftonline.com${issuer}` }) }]
}

/** The issuer as it is asked over the network: it says that it is who it is asked for, and has these keys. */
function served({ issuer }: BearerOptions, keys: object[], fetched: string[]): typeof fetch {
  return (address) => {
    const url = address as string
    fetched.push(url)
    return Promise.resolve(
      Response.json(url.endsWith(METADATA) ? { issuer, jwks_uri: url.replace(METADATA, '/keys') } : { keys }),
    )
  }
}

const home = join(process.cwd(), '.cache', `providers-${process.pid}`)
after(() => rmSync(home, { recursive: true, force: true }))
const load = createRequire(__filename)
const recipes = new Map<string, IssuerOptions>()
mkdirSync(home, { recursive: true })
for (const { file, text } of page(process.cwd(), 'docs/providers.md').blocks) {
  if (!file) continue
  writeFileSync(join(home, file), text)
  for (const [name, options] of Object.entries(load(join(home, file)) as Record<string, IssuerOptions>)) {
    recipes.set(file.replace('.ts', name === 'issuer' ? '' : `-${name}`), options)
  }
}

describe('recipes of docs/providers.md against the tokens of their issuers', () => {
  const cases = readData('corpora/issuer-tokens.json') as Case[]
  const { recipes: more } = readData('corpora/preset-cases.json') as { recipes: Case[] }
  const used = new Set<string>()
  const addresses = new Map<string, string>()

  for (const each of [...cases, ...more]) {
    it(each.id, async () => {
      const recipe = recipes.get(recipeOf(each))
      assert.ok(recipe, `a recipe ${recipeOf(each)}`)
      used.add(recipeOf(each))
      let reason: string | undefined
      const fetched: string[] = []
      const options = { ...recipe, ...besides(each) }
      const app = express()
      app.use(
        requireBearer({
          ...options,
          fetch: served(options, keysOf(each), fetched),
          onDenied: (err, _req, res) => {
            reason = err.reason
            res.status(err.status).end()
          },
        }),
      )
      app.use((req, res) => {
        const { scope, ...session } = sessionOf(req)
        const { kind } = session
        const userId = session.kind === 'user' ? session.userId : null
        const clientId = session.clientId === '' ? null : session.clientId
        res.json({ kind, userId, clientId, scopes: scope })
      })
      const { url } = await serve(app, { maxHeaderSize: 32_768 })
      const answer = await fetch(url, { headers: { authorization: `Bearer ${tokenOf(each)}` } })
      assert.deepEqual([answer.status, reason ?? null], [each.expect.status, each.expect.reason])
      const [first] = fetched
      if (first !== undefined && !('issuer' in besides(each))) addresses.set(recipeOf(each), first)
      if (each.expect.session) assert.deepEqual(await answer.json(), each.expect.session)
    })
  }

  it('are 107 cases of the corpus and 28 more, and use every recipe', () => {
    assert.deepEqual([cases.length, more.length], [107, 28])
    assert.deepEqual(
      [...recipes.keys()].filter((name) => !used.has(name)),
      [],
    )
    assert.deepEqual(Object.fromEntries(addresses), FETCHED)
  })
})
