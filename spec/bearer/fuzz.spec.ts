import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, randomBytes, randomInt, sign as signBytes, type KeyObject } from 'node:crypto'
import { describe, it } from 'node:test'
import { compactVerify, jwtVerify } from 'jose'
import { bearerConfig } from '../../lib/bearer/bearer-config'
import type { Reason, Refusal } from '../../lib/bearer/refusal/refusal'
import { manualClock } from '../../lib/testing/index'

const runs = Number(process.env.FUZZ_RUNS ?? 3_000)
const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 32))

const NOW = 1_800_000_000
const issuer = 'https://as.test'
const audience = 'api'
const TOLERANCE = 5

/** A small generator of its own, so that a run can be repeated by its seed (mulberry32). */
let state = seed
function random(): number {
  state = (state + 0x6d2b79f5) | 0
  let t = Math.imul(state ^ (state >>> 15), 1 | state)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}
const below = (n: number) => Math.floor(random() * n)
const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T

interface Signer {
  readonly alg: 'HS256' | 'ES256' | 'EdDSA' | 'RS256'
  readonly verify: KeyObject | Uint8Array
  sign(input: string): Buffer
}
const secret = randomBytes(32)
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ed = generateKeyPairSync('ed25519')
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const signers: readonly Signer[] = [
  { alg: 'HS256', verify: secret, sign: (input) => createHmac('sha256', secret).update(input).digest() },
  {
    alg: 'ES256',
    verify: ec.publicKey,
    sign: (input) => signBytes('sha256', Buffer.from(input), { key: ec.privateKey, dsaEncoding: 'ieee-p1363' }),
  },
  { alg: 'EdDSA', verify: ed.publicKey, sign: (input) => signBytes(null, Buffer.from(input), ed.privateKey) },
  { alg: 'RS256', verify: rsa.publicKey, sign: (input) => signBytes('sha256', Buffer.from(input), rsa.privateKey) },
]
const cheap = signers.slice(0, 3)

function ours({ alg, verify }: Signer) {
  const keys = verify instanceof Uint8Array ? { secret: verify } : { key: verify, algorithms: [alg] }
  const options = { issuer, audience, clockToleranceSec: TOLERANCE, clock: manualClock(NOW * 1_000), ...keys }
  return bearerConfig(options, {}).verifier
}
const verifiers = new Map(signers.map((signer) => [signer, ours(signer)]))

const encode = (text: string) => Buffer.from(text).toString('base64url')
function seal(signer: Signer, header: string, claims: string): string {
  const input = `${encode(header)}.${encode(claims)}`
  return `${input}.${signer.sign(input).toString('base64url')}`
}

const claims = { iss: issuer, aud: audience, sub: 'ada', exp: NOW + 3_600, iat: NOW, client_id: 'tree', scope: 'read' }
const header = (alg: string) => ({ alg, typ: pick(['at+jwt', 'JWT', undefined]) })
const seeds = new Map(
  signers.map((signer) => [
    signer,
    Array.from({ length: 8 }, (_, i) =>
      seal(signer, JSON.stringify(header(signer.alg)), JSON.stringify({ ...claims, jti: `${i}` })),
    ),
  ]),
)

const NUMBERS = [
  ...[0, -1, 1, NOW, NOW - 5, NOW - 6, NOW + 5, NOW + 6, NOW + 0.5],
  ...[1e15, 1e308, -1e308, 8.64e12, 2 ** 53, 2 ** 31],
]
const TEXTS = [
  ...['', 'a', 'ada', 'api', issuer, `${issuer}/`, 'x'.repeat(256)],
  ...['\u0000', 'é', '\ud800', '__proto__', `${NOW}`],
]
function value(depth = 0): unknown {
  const kinds = depth < 3 ? 9 : 5
  const kind = below(kinds)
  if (kind === 0) return pick(NUMBERS)
  if (kind <= 2) return pick(TEXTS)
  if (kind === 3) return pick([true, false, null])
  if (kind === 4) return undefined
  if (kind <= 6) return Array.from({ length: below(4) }, () => value(depth + 1))
  return { [pick(['a', 'jkt', 'exp', '__proto__', 'constructor'])]: value(depth + 1) }
}
const CLAIMS = 'iss aud sub exp nbf iat jti cnf client_id scope at_hash nonce acr __proto__'.split(' ')
const HEADERS = 'alg typ kid crit b64 jku jwk x5u x5c cty zip enc epk __proto__'.split(' ')
const ALGS = ['', ...'none None HS256 HS384 RS256 PS256 ES256 ES384 EdDSA Ed25519 hs256 dir'.split(' ')]
const TYPS = ['JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/at+jwt', 'dpop+jwt', 'secevent+jwt', '']

/** JSON with a member changed, sometimes in ways that JSON.stringify would never write. */
function changed(object: object, names: readonly string[]): string {
  const copy: Record<string, unknown> = { ...object }
  for (let n = 1 + below(2); n > 0; n--) {
    const name = pick(names)
    const set = name === 'alg' && random() < 0.8 ? pick(ALGS) : name === 'typ' && random() < 0.8 ? pick(TYPS) : value()
    Object.defineProperty(copy, name, { value: set, enumerable: true, configurable: true, writable: true })
  }
  const json = JSON.stringify(copy)
  const odd = [
    ` ${json}\n`,
    `\ufeff${json}`,
    json.replace('{', `{${JSON.stringify(pick(names))}:${JSON.stringify(value()) ?? 'null'},`),
    json.replace(/}$/, ',"exp":1e999}'),
    json.replace(/"(\w)(\w*)":/, (_, a: string, b: string) => `"\\u00${a.charCodeAt(0).toString(16)}${b}":`),
    pick(['null', '[]', '""', '1', '{', `[${json}]`, '[['.repeat(40), `{"a":${'['.repeat(40)}${']'.repeat(40)}}`]),
  ]
  return odd[below(14)] ?? json
}

/** Text changed without being signed anew. */
function bent(token: string, other: string): string {
  const at = below(token.length)
  const alphabet = 'ABCxyz019-_.+/= \u00e9'
  const parts = token.split('.')
  const [which, theirs] = [below(3), other.split('.')]
  const forms = [
    token.slice(0, at) + pick([...alphabet]) + token.slice(at + 1),
    token.slice(0, at) + pick([...alphabet]) + token.slice(at + 1),
    token.slice(0, at) + token.slice(at + 1),
    token.slice(0, at) + pick([...alphabet]) + token.slice(at),
    token.slice(0, at),
    token + pick(['.', '=', 'A', '.x', '\n']),
    parts.map((part, i) => (i === which ? theirs[i] : part)).join('.'),
    // The last letter of a part holds bits that are not used.
    parts.map((part, i) => (i === which ? part.slice(0, -1) + pick([...'ABCDEFGHghQw']) : part)).join('.'),
    pick([`${parts[0]}.${parts[1]}.`, parts.toReversed().join('.'), `${parts[0]}..${parts[2]}`, token.toUpperCase()]),
  ]
  return forms[below(10)] ?? token
}

/** Why ours may refuse what jose accepts: the check is one that jose leaves to its caller, or one more. */
const STRICTER: Readonly<Partial<Record<Reason, string>>> = {
  malformed_token:
    'canonical base64url, no member twice, no __proto__, no BOM, valid UTF-8, 32 levels, 8 KB, kid and typ texts',
  critical_header: 'b64 without crit (RFC 7797 §6)',
  token_type: 'another kind of JWT by its typ (RFC 8725 §3.11)',
  id_token: 'at_hash and c_hash are of ID tokens',
  expiry: 'exp is required, a finite number within the range of dates',
  not_yet_valid: 'nbf within the range of dates',
  issued_at: 'iat within the range of dates',
  audience: 'aud holds texts only',
  subject: 'sub is a text of 1 to 255 characters without control characters',
  token_id: 'jti is a text (RFC 7519 §4.1.7)',
}

/** jose sets a clock of whole seconds and no limit on the type: the same settings as ours, as far as it has them. */
async function joseAccepts(token: string, { alg, verify }: Signer): Promise<boolean> {
  const currentDate = new Date(NOW * 1_000)
  try {
    await jwtVerify(token, verify, { algorithms: [alg], issuer, audience, clockTolerance: TOLERANCE, currentDate })
    return true
  } catch {
    return false
  }
}

/** Whether jose takes the same token without its claims that are null: to ours they are absent. */
async function joseAcceptsWithoutNull(token: string, signer: Signer): Promise<boolean> {
  const { payload } = await compactVerify(token, signer.verify, { algorithms: [signer.alg] })
  const said = Object.entries(JSON.parse(Buffer.from(payload).toString()) as object)
  const [header] = token.split('.') as [string]
  const rest = JSON.stringify(Object.fromEntries(said.filter(([, value]) => value !== null)))
  return joseAccepts(seal(signer, Buffer.from(header, 'base64url').toString(), rest), signer)
}

describe(`requireBearer()'s verifier against jose, ${runs.toLocaleString('en')} mutations, FUZZ_SEED=${seed}`, () => {
  it(
    'accepts nothing that jose refuses, and refuses more only for the reasons listed',
    { timeout: 1_800_000 },
    async () => {
      const counts = { both: 0, neither: 0 }
      const stricter = new Map<string, number>()
      for (let done = 0; done < runs;) {
        const batch = Array.from({ length: Math.min(500, runs - done) }, () => {
          const roll = random()
          const signer = pick(roll < 0.4 ? signers : cheap)
          const tokens = seeds.get(signer) as string[]
          const json = [JSON.stringify(header(signer.alg)), JSON.stringify(claims)] as const
          if (roll < 0.4) return { signer, token: bent(pick(tokens), pick(seeds.get(pick(signers)) as string[])) }
          if (roll < 0.65) return { signer, token: seal(signer, changed(header(signer.alg), HEADERS), json[1]) }
          return { signer, token: seal(signer, json[0], changed(claims, CLAIMS)) }
        })
        done += batch.length
        const outcomes = batch.map(({ token, signer }) => {
          const outcome = verifiers.get(signer)?.verify(token) as Refusal | { token: string }
          const { refused } = outcome as Partial<Refusal>
          return refused === 'malformed_credentials' ? 'malformed_token' : refused // a character that base64url does not have
        })
        // Where ours is known to be stricter any answer of jose's will do: a sample is enough to see it is.
        const asked = outcomes.map((refused) => refused === undefined || !(refused in STRICTER) || random() < 0.1)
        const theirs = await Promise.all(
          batch.map(({ token, signer }, i) => (asked[i] ? joseAccepts(token, signer) : Promise.resolve(undefined))),
        )
        for (const [i, { token, signer }] of batch.entries()) {
          const refused = outcomes[i]
          const what = `FUZZ_SEED=${seed}: ${signer.alg} ${token}`
          if (refused === undefined)
            assert.ok(theirs[i] || (await joseAcceptsWithoutNull(token, signer)), `accepted, and jose refuses: ${what}`)
          else if (theirs[i]) assert.ok(refused in STRICTER, `refused for ${refused}, and jose accepts: ${what}`)
          if (refused === undefined) counts.both++
          else if (theirs[i]) stricter.set(refused, (stricter.get(refused) ?? 0) + 1)
          else counts.neither++
        }
      }
      assert.ok(counts.both > runs / 50 && counts.neither > runs / 5, JSON.stringify(counts))
    },
  )
})
