import type { Case } from './providers.spec'

/** The legacy JWT secret of the Supabase recipe. */
export const LEGACY_SECRET = 'the legacy JWT secret, from the environment'

type Header = NonNullable<Case['header']>
type Session = NonNullable<Case['expect']['session']>

/** A token, and the session or the reason that it must come to. `$now` stands for the time. */
function token(
  id: string,
  header: Header,
  claims: Record<string, unknown>,
  expected: Partial<Session> | string,
  signature?: 'invalid',
): Case {
  const isRefused = typeof expected === 'string'
  const session = isRefused ? null : { kind: 'user', userId: null, clientId: null, scopes: [], ...expected }
  return {
    id,
    header,
    claims: { iat: '$now-10', nbf: '$now-10', exp: '$now+3600', ...claims },
    ...(signature && { signature }),
    recipe: { issuer: String(claims.iss), audience: claims.aud, requirements: '' },
    expect: { status: isRefused ? 401 : 200, session, reason: isRefused ? expected : null },
  }
}

const RS256 = { alg: 'RS256', typ: 'JWT', kid: 'k1' }

const tid = '72f988bf-86f1-41af-91ab-2d7cd011db47'
const external = {
  ...{ iss: `https://${tid}.ciamlogin.com/${tid}/v2.0`, aud: '6e74172b-be56-4843-9ff4-e66a39bb12e3', tid, ver: '2.0' },
  ...{ azp: '7c12c80b-9fb5-4dec-abba-e43254ba4279', oid: '690222be-ff1a-4d56-abd1-7e4f7d38e474', sub: 'pairwise' },
}

const api = 'microsoft:identityserver:6e74172b-be56-4843-9ff4-e66a39bb12e3'
const app = '7c12c80b-9fb5-4dec-abba-e43254ba4279'
const service = '0b4c2f16-5d0e-4d7b-8a3c-52f1c6a9e7d4'
const adfs = {
  ...{ iss: 'http://adfs.acme.example/adfs/services/trust', aud: api, ver: '1.0', apptype: 'Public', appid: app },
  ...{ authmethod: 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport' },
  ...{ auth_time: '2026-11-26T07:30:17.507Z', scp: 'openid read' },
}
const upn = 'ada@acme.example'

const tenantId = '775527ff-9a37-4307-8b3d-cc311f58d925'
const b2c = {
  ...{ iss: `https://acme.b2clogin.com/${tenantId}/v2.0/`, aud: '6e74172b-be56-4843-9ff4-e66a39bb12e3', ver: '1.0' },
  ...{ sub: '884408e1-2918-4cz0-b12d-3aa027d7563b', tfp: 'B2C_1_sign_in', azp: app, scp: 'read write' },
}

const clerk = { iss: 'https://clerk.acme.example', sub: 'user_2vYVtestTESTtestTESTtest', jti: 'j1' }
const origin = 'https://app.acme.example'
const oauthApp = 'aBcDeFgHiJkLmNoP'
const AT_JWT = { ...RS256, typ: 'at+jwt' }

const supabase = {
  ...{ iss: 'https://abcdefghijklmnopqrst.supabase.co/auth/v1', aud: 'authenticated', role: 'authenticated' },
  ...{ sub: '123e4567-e89b-12d3-a456-426614174000', session_id: 's1', is_anonymous: false },
}
const LEGACY = { alg: 'HS256', typ: 'JWT', kid: 'legacy' }
const ES256 = { alg: 'ES256', typ: 'JWT', kid: 'k2' }

// docs.descope.com, aws-app-sync: the issuer of new projects, and that of older ones.
const descope = { sub: 'U2user000000000000000000000', drn: 'DS', amr: ['email'], dct: 'T2acme' }
const descopeApps = 'https://api.descope.com/v1/apps/P2abcDEFghiJKLmnoPQRstuVWX'

/** Tokens for recipes that the corpus has none for, in the form that their issuers make them. */
export const MORE_TOKENS: readonly Case[] = [
  token(
    'entra-external-user',
    RS256,
    { ...external, scp: 'read' },
    {
      ...{ userId: external.oid, clientId: external.azp, scopes: ['read'] },
    },
  ),
  token('entra-external-id-token', RS256, { ...external, azp: undefined, aud: external.aud }, 'claim_check'),
  token('adfs-user', RS256, { ...adfs, upn }, { userId: upn, clientId: app, scopes: ['openid', 'read'] }),
  token(
    'adfs-service',
    RS256,
    { ...adfs, appid: service, apptype: 'Confidential', scp: null },
    { kind: 'client', clientId: service },
  ),
  token('adfs-no-upn', RS256, adfs, 'subject'),
  token('adfs-no-app', RS256, { ...adfs, upn, appid: undefined }, 'subject'),
  token('adfs-id-token', RS256, { ...adfs, upn, iss: 'https://adfs.acme.example/adfs', aud: app }, 'issuer'),
  token('adfs-other-api', RS256, { ...adfs, upn, aud: 'https://other.acme.example' }, 'audience'),

  token('b2c-user', RS256, b2c, { userId: b2c.sub, clientId: app, scopes: ['read', 'write'] }),
  token('b2c-id-token', RS256, { ...b2c, azp: undefined, scp: undefined, nonce: 'n' }, 'claim_check'),
  token('b2c-password-reset', RS256, { ...b2c, tfp: 'B2C_1_password_reset' }, 'claim_check'),
  token('b2c-no-scope', RS256, { ...b2c, scp: undefined, roles: ['read'] }, 'claim_check'),
  token('b2c-other-tenant', RS256, { ...b2c, iss: b2c.iss.replace('775527ff', '875527ff') }, 'issuer'),
  token('b2c-other-api', RS256, { ...b2c, aud: app }, 'audience'),

  token('clerk-both-session', RS256, { ...clerk, azp: origin, sts: 'active' }, { userId: clerk.sub, clientId: origin }),
  token(
    'clerk-both-oauth',
    AT_JWT,
    { ...clerk, client_id: oauthApp, scope: 'profile email' },
    { userId: clerk.sub, clientId: oauthApp, scopes: ['profile', 'email'] },
  ),
  token('clerk-both-other-app', AT_JWT, { ...clerk, client_id: 'zYxWvUtSrQpOnMlK', scope: 'profile' }, 'client'),
  token('clerk-both-app-of-other-name', AT_JWT, { ...clerk, client_id: 'zYxWvUtSrQpOnMlK', azp: origin }, 'client'),
  token('clerk-both-other-page', RS256, { ...clerk, azp: 'https://mallory.example' }, 'client'),
  token('clerk-both-neither', RS256, clerk, 'client'),
  token('clerk-both-machine', RS256, { ...clerk, sub: 'mch_1', aud: ['mch_tree'], azp: origin }, 'subject'),

  token('supabase-both-legacy', LEGACY, supabase, { userId: supabase.sub }),
  token('supabase-both-new', ES256, supabase, { userId: supabase.sub }),
  token('descope-apps-user', RS256, { ...descope, iss: descopeApps }, { userId: descope.sub }),
  token('descope-apps-refresh-token', RS256, { ...descope, iss: descopeApps, drn: 'DSR' }, 'claim_check'),
  token('descope-apps-other-project', RS256, { ...descope, iss: descopeApps.replace('P2abc', 'P2xyz') }, 'issuer'),
  token('descope-apps-agentic', RS256, { ...descope, iss: descopeApps.replace('P2', 'agentic/P2') }, 'issuer'),

  token('supabase-both-guessed', LEGACY, supabase, 'signature', 'invalid'),
]
