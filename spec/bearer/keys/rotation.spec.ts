import assert from 'node:assert/strict'
import { createHmac, createHash, sign } from 'node:crypto'
import { describe, it } from 'node:test'
import { type BearerOptions, type DenialError, requireBearer } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { generateKeys } from '../../support/generate-keys'

const issuer = 'https://as.test'
const audience = 'api'
const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')

/** A key of an issuer, and its tokens. */
function keyOf(kid?: string, kind: 'ec' | 'rsa' = 'ec') {
  const { publicKey, privateKey } = generateKeys(kind)
  const alg = kind === 'ec' ? 'ES256' : 'RS256'
  const jwk = { ...publicKey.export({ format: 'jwk' }), ...(kid !== undefined && { kid }) }
  const token = (header: object = {}, claims: object = {}) => {
    const all = { iss: issuer, aud: audience, sub: 'ada', exp: 4_102_444_800, ...claims }
    const input = `${encode({ alg, kid, ...header })}.${encode(all)}`
    const options = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
    return `${input}.${sign('sha256', Buffer.from(input), options).toString('base64url')}`
  }
  return { jwk, token }
}

/** A check with keys at an address, which are replaced and counted. */
function checking(keys: object[], options: BearerOptions = {}) {
  const state = { keys, fetches: [] as string[] }
  const clock = manualClock()
  const bearer = requireBearer({
    ...{ issuer, audience, jwksUri: `${issuer}/keys`, clock, warnings: false },
    fetch: (url) => {
      state.fetches.push(url)
      return Promise.resolve(Response.json({ keys: state.keys }))
    },
    ...options,
  })
  const reasonOf = (err: DenialError) => String(err.reason)
  const ask = (token: string) => bearer.check(token).then(({ sub }) => sub, reasonOf)
  return { state, clock, ask, bearer }
}

describe('requireBearer() and tokens that do not name their key by kid', () => {
  it('tries the keys of a set without kids, old and new', async () => {
    const [old, fresh] = [keyOf(), keyOf()]
    const { ask } = checking([old.jwk, fresh.jwk])
    assert.deepEqual(
      [await ask(old.token()), await ask(fresh.token()), await ask(fresh.token({ kid: 'x' }))],
      ['ada', 'ada', 'ada'],
    )
  })

  it('takes the key that the token names by x5t or x5t#S256, said in the set or by a certificate', async () => {
    const certificate = Buffer.from('any bytes')
    const [sha1, sha256] = (['sha1', 'sha256'] as const).map((name) =>
      createHash(name).update(certificate).digest('base64url'),
    )
    const [old, fresh, certified] = [keyOf('a'), keyOf('b'), keyOf('c')]
    const { ask } = checking([
      { ...old.jwk, x5t: 'T1' },
      { ...fresh.jwk, 'x5t#S256': 'T2' },
      { ...certified.jwk, x5c: [certificate.toString('base64')] },
    ])
    const unnamed = { kid: undefined }
    assert.equal(await ask(old.token({ ...unnamed, x5t: 'T1' })), 'ada')
    assert.equal(await ask(fresh.token({ ...unnamed, 'x5t#S256': 'T2' })), 'ada')
    for (const name of [{ x5t: sha1 }, { 'x5t#S256': sha256 }])
      assert.equal(await ask(certified.token({ ...unnamed, ...name })), 'ada')
    assert.equal(await ask(fresh.token({ ...unnamed, x5t: 'another' })), 'ada') // no key has it: all are tried
  })

  it('tries five keys at most, and says so', async () => {
    const keys = Array.from({ length: 7 }, (_, i) => keyOf(`k${i}`))
    const causes: unknown[] = []
    const bearer = requireBearer({
      ...{ issuer, audience, warnings: false },
      keys: keys.map(({ jwk }) => jwk),
    })
    const tried = await Promise.all(
      keys.map(({ token }) =>
        bearer.check(token({ kid: undefined })).then(
          () => true,
          (err: Error) => void causes.push(err.cause),
        ),
      ),
    )
    assert.equal(tried.filter(Boolean).length, 5)
    assert.match(String(causes[0]), /names no key by kid or x5t, and only 5 of the issuer's are tried/)
  })

  it('asks the issuer once more where no key fits, and says 503 while it does not answer', async () => {
    const [old, fresh] = [keyOf(), keyOf()]
    const { state, clock, ask } = checking([old.jwk])
    assert.equal(await ask(old.token()), 'ada')
    state.keys = [fresh.jwk]
    const waiting = ask(fresh.token())
    clock.advance(2_000)
    assert.equal(await waiting, 'ada')
    state.keys = [7 as never, ...Array.from({ length: 1_001 }, () => ({}))] // no set
    clock.advance(2_000)
    assert.equal(await ask(old.token()), 'keys_unavailable')
    assert.equal(await ask(fresh.token()), 'ada')
  })
})

describe('requireBearer() and an issuer that gives a kid to another key', () => {
  it('takes tokens of the new key after one more fetch, also one of another algorithm', async () => {
    for (const next of [keyOf('k'), keyOf('k', 'rsa')]) {
      const old = keyOf('k')
      const { state, clock, ask } = checking([old.jwk])
      assert.equal(await ask(old.token()), 'ada')
      state.keys = [next.jwk]
      const waiting = ask(next.token())
      clock.advance(2_000)
      assert.equal(await waiting, 'ada')
      assert.equal(state.fetches.length, 2)
      const late = ask(old.token())
      clock.advance(2_000)
      assert.match(String(await late), /^(signature|algorithm)$/)
    }
  })

  it('asks once in 2 s for any number of forged tokens, and holds up no other', async () => {
    const [own, forger] = [keyOf('k'), keyOf('k')]
    const { state, clock, ask } = checking([own.jwk])
    assert.equal(await ask(own.token()), 'ada')
    for (let round = 2; round <= 3; round++) {
      const forged = Array.from({ length: 520 }, (_, i) => ask(forger.token({}, { jti: `${round}-${i}` })))
      assert.equal(await ask(own.token({}, { jti: `${round}` })), 'ada')
      assert.equal(await Promise.race(forged), 'signature') // those beyond the first 500 are refused at once
      clock.advance(1_999)
      await new Promise(setImmediate)
      assert.equal(state.fetches.length, round - 1)
      clock.advance(1)
      for (const one of forged) assert.equal(await one, 'signature')
      assert.equal(state.fetches.length, round)
    }
  })
})

describe('requireBearer({ secret }) with several secrets', () => {
  const [fresh, old, other] = ['n', 'o', 'x'].map((char) => char.repeat(40)) as [string, string, string]
  const token = (secret: string) => {
    const input = `${encode({ alg: 'HS256' })}.${encode({ iss: issuer, aud: audience, sub: 'ada', exp: 4_102_444_800 })}`
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
  }

  it('takes tokens of both, and of no other, beside a JWK Set too', async () => {
    const pair = keyOf('k')
    for (const options of [{ jwksUri: undefined }, {}]) {
      const { ask, state } = checking([pair.jwk], { ...options, secret: [undefined, fresh, Buffer.from(old)] })
      assert.deepEqual(
        [await ask(token(fresh)), await ask(token(old)), await ask(token(other))],
        ['ada', 'ada', 'signature'],
      )
      assert.deepEqual(state.fetches, [])
      if (!('jwksUri' in options)) assert.equal(await ask(pair.token()), 'ada')
    }
  })

  it('takes the secrets alone while a JWK Set is empty or away, and is ready without its keys, but not without the set', async () => {
    const secret = [fresh]
    const { bearer, ask, state, clock } = checking([], { secret })
    await bearer.ready()
    const unknown = ask(keyOf('k').token())
    clock.advance(2_000)
    assert.deepEqual([await ask(token(fresh)), await unknown], ['ada', 'unknown_key'])
    state.keys = [{ ...keyOf('k').jwk, use: 'enc' }]
    await assert.rejects(bearer.reload(), /the key 'k' is left out/)
    const away = checking([], { secret, fetch: () => Promise.reject(new Error('away')) })
    await assert.rejects(away.bearer.ready(), /cannot be loaded/)
    assert.deepEqual([await away.ask(token(fresh)), await away.ask(keyOf('k').token())], ['ada', 'keys_unavailable'])
  })
})

describe('requireBearer({ issuers }) with one JWK Set', () => {
  const tid = '72f988bf-86f1-41af-91ab-2d7cd011db47'
  const v2 = `https://login.microsoftonline.com/${tid}/v2.0`
  const v1 = `https://sts.windows.net/${tid}/`
  const shared = (named: string, audiences: readonly string[] = [audience, audience]) => {
    const own = keyOf('k')
    const entry = (iss: string, i: number) => ({ issuer: iss, audience: audiences[i], jwksUri: 'https://keys.test' })
    const { state, ask } = checking([{ ...own.jwk, issuer: named }], {
      ...{ issuer: undefined, audience: undefined, jwksUri: undefined },
      issuers: [v2, v1].map(entry),
    })
    return { state, ask: (iss: string) => ask(own.token({}, { iss })) }
  }

  it('fetches it once, and takes its keys for both names of a tenant', async () => {
    for (const named of [v2, 'https://login.microsoftonline.com/{tenantid}/v2.0']) {
      const { state, ask } = shared(named)
      assert.deepEqual([await ask(v2), await ask(v1)], ['ada', 'ada'], named)
      assert.equal(state.fetches.length, 1)
    }
  })

  it('takes no key of another tenant', async () => {
    for (const named of [
      'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
      'https://evil.test/{tenantid}/v2.0',
    ]) {
      const { ask } = shared(named)
      assert.deepEqual([await ask(v2), await ask(v1)], ['unknown_key', 'unknown_key'], named)
    }
    const own = keyOf('k')
    const other = 'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0'
    const { ask } = checking([{ ...own.jwk, issuer: other }], { issuer: [v2, other] })
    assert.deepEqual(
      [await ask(own.token({}, { iss: other })), await ask(own.token({}, { iss: v2 }))],
      ['ada', 'unknown_key'],
    )
  })
})
