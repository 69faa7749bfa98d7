import assert from 'node:assert/strict'
import { createHmac, createSecretKey } from 'node:crypto'
import { maxHeaderSize } from 'node:http'
import { describe, it } from 'node:test'
import { claimPolicy } from '../../lib/bearer/claims/claim-options'
import { type Refusal, isRefusal } from '../../lib/bearer/refusal/refusal'
import { ASYMMETRIC, type Algorithm, keyMismatch } from '../../lib/bearer/keys/algorithm'
import { claimProblem, opaqueClaimProblem, type ClaimPolicy } from '../../lib/bearer/claims/claims'
import { fieldValues, findToken } from '../../lib/bearer/credentials/credentials'
import { readJsonObject } from '../../lib/http/json'
import { readJws, type Jws } from '../../lib/bearer/credentials/jws'
import { findKey, keySet, leftOutKeys } from '../../lib/bearer/keys/key-source'
import { scopeOf, scopeRule, grantsScope } from '../../lib/bearer/session/scope'
import {
  identityFromClaims,
  isId,
  identityReturned,
  makeSession,
  UNAUTHENTICATED_MARK,
} from '../../lib/bearer/session/session'
import { isSignedWith } from '../../lib/bearer/keys/signature'
import { keyFromJwk, keyFromSecret, type VerifyKey } from '../../lib/bearer/keys/verify-key'
import { generateKeys } from '../support/generate-keys'

const read = (text: string | Buffer) => readJsonObject(Buffer.from(text as string))

describe('readJsonObject()', () => {
  it('takes objects only', () => {
    assert.deepEqual(read(' {"a": [1, {"b": null}]} '), { a: [1, { b: null }] })
    for (const text of ['', 'null', '[]', '1', '"a"', 'true', '{', '{"a":NaN}'])
      assert.equal(read(text), undefined, text)
  })

  it('refuses a member named twice, at any depth and however spelt, and no other colons', () => {
    for (const text of ['{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '{"x":{"a":1,"a":2}}', '{"x":[{"":1,"":2}]}']) {
      assert.equal(read(text), undefined, text)
    }
    for (const text of ['{"a":":","b":"\\":\\\\"}', '{"a:b":{"a:b":[":"]}}', '{"a":"\\\\","b":1}', '{}'])
      assert.ok(read(text), text)
  })

  it('refuses __proto__ at any depth, a byte order mark and invalid UTF-8', () => {
    for (const text of ['{"__proto__":1}', '{"a":[{"__proto__":{}}]}', '\ufeff{"a":1}'])
      assert.equal(read(text), undefined)
    assert.equal(read(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])), undefined)
    assert.ok(read('{"a":"__proto__","constructor":{"prototype":1}}'))
  })

  it('takes 32 levels, and no more', () => {
    const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    assert.ok(read(nested(32)))
    assert.equal(read(nested(33)), undefined)
  })

  it('freezes all of it', () => {
    const value = read('{"a":[{"b":1}]}') as { a: object[] }
    assert.ok(Object.isFrozen(value) && Object.isFrozen(value.a) && Object.isFrozen(value.a[0]))
  })
})

const part = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const compact = (header: unknown, claims: unknown = {}, signature = 'AAAA') =>
  `${part(header)}.${part(claims)}.${signature}`
const refusedJws = (token: string) => {
  const jws = readJws(token)
  return 'refused' in jws ? jws.refused : undefined
}

describe('readJws()', () => {
  it('takes a token apart', () => {
    const token = compact({ alg: 'RS256', kid: 'k', typ: 'application/AT+JWT' }, { sub: 'ada' })
    assert.deepEqual(
      { ...readJws(token), payload: undefined },
      {
        token,
        algorithm: 'RS256',
        kid: 'k',
        type: 'at+jwt',
        payload: undefined,
        header: { alg: 'RS256', kid: 'k', typ: 'application/AT+JWT' },
        claims: { sub: 'ada' },
      },
    )
    const { kid, type } = readJws(compact({ alg: 'x' })) as Jws
    assert.deepEqual([kid, type], [undefined, undefined])
  })

  it('refuses every other shape', () => {
    const good = compact({ alg: 'x' })
    const [header = '', claims = '', signature = ''] = good.split('.')
    for (const token of [
      '',
      'a',
      '..',
      `${header}.${claims}`,
      `${header}.${claims}.`,
      `${good}.`,
      `.${claims}.${signature}`,
      `${header}..${signature}`,
      `${header}=.${claims}.${signature}`,
      `${header}.${claims}.AAAB=`,
      `${header}.${claims}.AAB`, // bits that are not used
      `${header}.${claims}.A`,
      `${header}.${claims}.A A`,
      `${header}.${claims}.+/AA`,
      compact([]),
      compact('null'),
      compact({}),
      compact({ alg: 1 }),
      compact({ alg: 'x', kid: 1 }),
      compact({ alg: 'x', kid: null }),
      compact({ alg: 'x', typ: 1 }),
      compact('{"alg":"x","alg":"y"}'),
      compact({ alg: 'x' }, []),
      compact({ alg: 'x' }, '"a"'),
    ]) {
      assert.equal(refusedJws(token), 'malformed_token', token)
    }
    assert.equal(refusedJws(compact({ alg: 'x', crit: [] })), 'critical_header')
    assert.equal(refusedJws(compact({ alg: 'x', b64: true })), 'critical_header')
    assert.equal(refusedJws(good), undefined)
  })
})

describe('findToken()', () => {
  const find = (...raw: string[]) => {
    const found = findToken({ rawHeaders: raw })
    return 'refused' in found ? found.refused : found.token
  }

  it('looks at raw fields, whatever their case', () => {
    assert.equal(find('Host', 'a', 'AUTHORIZATION', 'bEARER a.b-c_d~e+f/g=='), 'a.b-c_d~e+f/g==')
    assert.equal(find('X', 'authorization', 'Authorization', 'Bearer a'), 'a')
    assert.equal(find('X', 'Bearer a'), 'no_token')
    assert.equal(find(), 'no_token')
    assert.equal(find('Authorization', 'Bearer   a'), 'a')
    assert.equal(find('Authorization', 'Bearer a', 'authorization', ''), 'several_tokens')
  })

  it('tells other schemes from malformed credentials', () => {
    for (const value of ['', ' ', 'Basic a', 'Bearers a', 'XBearer a', 'Bearer-a', 'DPoP a', '"Bearer" a']) {
      assert.equal(find('Authorization', value), 'no_token', value)
    }
    for (const value of [
      'Bearer',
      'Bearer ',
      'Bearer\ta',
      'Bearer a b',
      'Bearer a,b',
      'Bearer =',
      'Bearer a=b',
      'Bearer é',
      'Bearer:a',
    ]) {
      assert.equal(find('Authorization', value), 'malformed_credentials', value)
    }
  })

  it('refuses what is too long before looking at it', () => {
    assert.equal(find('Authorization', `Bearer ${'a'.repeat(maxHeaderSize)}`), 'a'.repeat(maxHeaderSize))
    assert.equal(find('Authorization', `Bearer ${'"'.repeat(maxHeaderSize + 1)}`), 'malformed_token')
    assert.deepEqual(findToken({ rawHeaders: ['Authorization', 'Bearer aaa'] }, false, 2), {
      refused: 'malformed_token',
    })
  })

  it('takes the scheme DPoP where asked to', () => {
    const find = (value: string) => findToken({ rawHeaders: ['Authorization', value] }, true)
    assert.deepEqual(find('dpop a'), { token: 'a', scheme: 'DPoP', placement: 'header' })
    assert.deepEqual(find('Bearer a'), { token: 'a', scheme: 'Bearer', placement: 'header' })
    assert.deepEqual(fieldValues({ rawHeaders: ['DPoP', '1', 'x', 'dpop', 'dpop', '2'] }, 'dpop'), ['1', '2'])
  })
})

describe('claimProblem()', () => {
  const now = 1_000_000
  const policy: ClaimPolicy = {
    ...claimPolicy({ issuer: 'i', audience: ['a', 'b'], clockToleranceSec: 10, maxAgeSec: 100 }, {}),
    required: ['jti'],
  }
  const good = { iss: 'i', aud: 'a', sub: 's', exp: now + 1, iat: now, jti: 'j' }
  const problem = (changed: object, type?: string) =>
    claimProblem({ claims: { ...good, ...changed }, type } as unknown as Jws, policy, ['i'], now)

  it('says what is wrong', () => {
    const cases: [object, string | undefined][] = [
      [{}, undefined],
      [{ iss: 'x' }, 'issuer'],
      [{ aud: ['x', 'b'] }, undefined],
      [{ aud: ['x'] }, 'audience'],
      [{ aud: {} }, 'audience'],
      [{ aud: ['a', 1] }, 'audience'],
      [{ sub: undefined }, undefined],
      [{ sub: null }, 'subject'],
      [{ jti: 1 }, 'token_id'],
      [{ exp: undefined }, 'expiry'],
      [{ exp: NaN }, 'expiry'],
      [{ exp: 8.64e12 }, undefined],
      [{ exp: 8.65e12 }, 'expiry'],
      [{ exp: now - 10 }, 'expired'],
      [{ exp: now - 9 }, undefined],
      [{ nbf: now + 10 }, undefined],
      [{ nbf: now + 11 }, 'not_yet_valid'],
      [{ nbf: '1' }, 'not_yet_valid'],
      [{ iat: '1' }, 'issued_at'],
      [{ iat: undefined }, 'issued_at'],
      [{ iat: now + 10 }, undefined],
      [{ iat: now + 11 }, 'issued_at'],
      [{ iat: now - 110 }, undefined],
      [{ iat: now - 111 }, 'too_old'],
      [{ at_hash: 'x' }, 'id_token'],
      [{ c_hash: 'x' }, 'id_token'],
    ]
    for (const [changed, reason] of cases) assert.equal(problem(changed), reason, JSON.stringify(changed))
    assert.equal(problem({ at_hash: 'x' }, 'at+jwt'), undefined)
    assert.deepEqual(
      ['jwt', 'at+jwt', 'x', ''].map((type) => problem({}, type)),
      [undefined, undefined, 'token_type', 'token_type'],
    )
    const without = { ...good } as Partial<typeof good>
    delete without.jti
    assert.equal(claimProblem({ claims: without } as unknown as Jws, policy, ['i'], now), 'required_claim')
    const two = { ...policy, required: ['jti', 'x'], maxAgeSec: undefined }
    assert.equal(claimProblem({ claims: good } as unknown as Jws, two, ['i'], now), 'required_claim')
    const lax = { ...policy, maxAgeSec: undefined }
    assert.equal(claimProblem({ claims: { ...good, iat: undefined } } as unknown as Jws, lax, ['i'], now), undefined)
    assert.equal(claimProblem({ claims: { ...good, iat: now - 1_000 } } as unknown as Jws, lax, ['i'], now), undefined)
  })

  it('asks less of what the issuer itself says of an opaque token', () => {
    const opaque = (claims: object) => opaqueClaimProblem({ aud: 'a', jti: 'j', iat: now, ...claims }, policy, now)
    assert.equal(opaque({}), undefined)
    assert.equal(opaque({ iss: 'i', aud: 'a', exp: now }), undefined)
    assert.equal(opaque({ aud: undefined }), 'audience')
    assert.deepEqual([{ iss: 'x' }, { aud: 'x' }, { exp: now - 10 }, { exp: 'x' }, { sub: '' }].map(opaque), [
      'issuer',
      'audience',
      'expired',
      'expiry',
      'subject',
    ])
  })
})

describe('findKey()', () => {
  const key = (kid: string | undefined, algorithm: Algorithm = 'ES256', of = generateKeys('ec')): VerifyKey => ({
    kid,
    algorithms: [algorithm],
    issuer: undefined,
    key: of.publicKey,
  })
  const find = (keys: VerifyKey[], kid: string | undefined, algorithm = 'ES256') => {
    const found = findKey(keySet(keys), kid, algorithm)
    return 'refused' in found ? found.refused : keys.indexOf(found)
  }

  it('goes by kid, and by the algorithm the key is for', () => {
    const keys = [key('a'), key('b', 'RS256'), key('c', 'RS256')]
    assert.deepEqual(
      [find(keys, 'a'), find(keys, 'b'), find(keys, 'x'), find(keys, '__proto__')],
      [0, 'algorithm', 'unknown_key', 'unknown_key'],
    )
  })

  it('without a kid takes the only key of the algorithm, and never one of several', () => {
    const keys = [key('a'), key('b', 'RS256'), key('c', 'RS256')]
    assert.deepEqual(
      [find(keys, undefined), find(keys, undefined, 'RS256'), find(keys, undefined, 'PS256')],
      [0, 'unknown_key', 'algorithm'],
    )
    assert.deepEqual([find([], undefined), find([], 'a')], ['unknown_key', 'unknown_key'])
  })

  it('takes any kid for a key that has none', () => {
    assert.deepEqual(
      [find([key(undefined)], 'x'), find([key(undefined)], undefined), find([key(undefined)], 'x', 'RS256')],
      [0, 0, 'algorithm'],
    )
    assert.equal(find([key(undefined), key('a')], 'x'), 0)
    assert.equal(find([key(undefined), key('a')], 'a'), 1)
  })

  it('tells keys of one kid apart by their algorithms, and takes the same key twice for one', () => {
    const pair = generateKeys('ec')
    const keys = [key('a'), key('a', 'RS256'), key('b', 'RS256', pair), key('b', 'RS256', pair)]
    assert.deepEqual([find(keys, 'a'), find(keys, 'a', 'RS256'), find(keys, 'b', 'RS256')], [0, 1, 2])
    assert.equal(find([key('a', 'ES256', pair), key('b', 'ES256', pair)], undefined), 0)
    const ofIssuers = ['one', 'other'].map((issuer) => ({ ...key('a', 'ES256', pair), issuer }))
    assert.equal(find(ofIssuers, 'a'), 'unknown_key')
  })

  it('leaves out keys that a token cannot tell apart, and says why', () => {
    const set = keySet([key('a'), key('a'), key('b'), key(undefined), key(undefined)])
    assert.deepEqual(
      [set.all.map(({ kid }) => kid), set.leftOut.map(({ kid, why }) => `${kid}: ${why}`)],
      [
        ['b'],
        [
          ...Array<string>(2).fill('a: another key for ES256 has its kid'),
          ...Array<string>(2).fill('undefined: another key for ES256 has no kid either'),
        ],
      ],
    )
    for (const kid of ['a', 'x', undefined]) {
      assert.equal((findKey(set, kid, 'ES256') as Refusal).refused, 'unknown_key', kid)
    }
    assert.match(
      String((findKey(set, 'a', 'ES256') as Refusal).cause),
      /the key 'a' is left out: another key for ES256/,
    )
    assert.equal((findKey(set, 'x', 'ES256') as Refusal).cause, undefined)
  })

  it('names a few of the keys left out, and counts the others', () => {
    const leftOut = ['a', undefined, 'c', 'd', 'e'].map((kid) => ({ kid, why: 'x' }))
    const said = "the key 'a' is left out: x; a key without kid is left out: x; the key 'c' is left out: x"
    assert.deepEqual([leftOutKeys(leftOut.slice(0, 3)), leftOutKeys(leftOut)], [said, `${said}; 2 more are left out`])
  })
})

describe('scopeOf(), scopeRule() and grantsScope()', () => {
  it('read scopes as RFC 6749 §3.3 writes them, and nothing else', () => {
    const cases: [object, string[]][] = [
      [{ scope: 'a b  c a' }, ['a', 'b', 'c']],
      [{ scope: ['a', 1, 'b c', ''] }, ['a']],
      [{ scp: 'a b' }, ['a', 'b']],
      [{ scope: 'a', scp: ['b', 'a'] }, ['a', 'b']],
      [{ scope: 'a"b c\\d é x' }, ['x']],
      [{ scope: 7 }, []],
      [{}, []],
    ]
    for (const [claims, scopes] of cases) assert.deepEqual(scopeOf(claims as never), scopes)
  })

  it('want all, or any', () => {
    const rule = (needed: unknown) => scopeRule(needed) ?? assert.fail()
    assert.deepEqual(
      [['a'], ['a', 'b'], []].map((granted) => grantsScope(granted, rule('a b'))),
      [false, true, false],
    )
    assert.deepEqual(
      [['a'], ['c'], []].map((granted) => grantsScope(granted, rule({ any: ['a', 'b'] }))),
      [true, false, false],
    )
    assert.ok(grantsScope([], rule([])))
    assert.deepEqual([rule(['a', 'b c']).role, rule('b c').role], ['b c', undefined])
    for (const needed of [{ any: [] }, null, 7, 'a  b', ['a\n'], ['\ud800'], undefined])
      assert.equal(scopeRule(needed), undefined)
  })
})

describe('identityFromClaims()', () => {
  const who = (claims: object, mark = UNAUTHENTICATED_MARK) => {
    const found = identityFromClaims(claims as never, mark)
    return 'refused' in found ? found.refused : found
  }

  it('knows the three kinds of session', () => {
    const app = { kind: 'client', clientId: 'app' }
    const unauthenticated = { kind: 'unauthenticated', clientId: 'app' }
    const cases: [object, unknown][] = [
      [{ sub: 'ada' }, { kind: 'user', userId: 'ada', clientId: undefined }],
      [
        { sub: 'ada', azp: 'app' },
        { kind: 'user', userId: 'ada', clientId: 'app' },
      ],
      [
        { sub: 'ada', client_id: 'app', azp: 'x' },
        { kind: 'user', userId: 'ada', clientId: 'app' },
      ],
      [
        { sub: 'ada', session_kind: 'user' },
        { kind: 'user', userId: 'ada', clientId: undefined },
      ],
      [{ sub: 'app', client_id: 'app' }, app],
      [{ sub: 'svc', client_id: 'app', session_kind: 'client' }, app],
      [{ client_id: 'app', session_kind: 'client' }, app],
      [{ client_id: 'app', session_kind: 'unauthenticated' }, unauthenticated],
      [{ sub: 'app', client_id: 'app', session_kind: 'unauthenticated' }, unauthenticated],
    ]
    for (const [claims, expected] of cases) assert.deepEqual(who(claims), expected, JSON.stringify(claims))
  })

  it('never takes a missing sub for an unauthenticated session, nor guesses between marks', () => {
    const cases: [object, string][] = [
      [{}, 'subject'],
      [{ client_id: 'app' }, 'subject'],
      [{ sub: 7 }, 'subject'],
      [{ sub: 'ada', client_id: '' }, 'client'],
      [{ sub: 'ada', client_id: 'app', session_kind: 'unauthenticated' }, 'session_kind'],
      [{ session_kind: 'unauthenticated' }, 'session_kind'],
      [{ session_kind: 'client' }, 'session_kind'],
      [{ sub: 'app', client_id: 'app', session_kind: 'user' }, 'session_kind'],
      [{ sub: 'ada', session_kind: 'root' }, 'session_kind'],
    ]
    for (const [claims, reason] of cases) assert.equal(who(claims), reason, JSON.stringify(claims))
  })

  it('goes by a mark of the issuer’s own', () => {
    const mark = { claim: 'anon', value: true }
    assert.deepEqual(who({ client_id: 'app', anon: true }, mark), { kind: 'unauthenticated', clientId: 'app' })
    assert.equal(who({ client_id: 'app', anon: true, session_kind: 'client' }, mark), 'session_kind')
    assert.equal(who({ client_id: 'app', anon: true, session_kind: 'user' }, mark), 'session_kind')
    assert.deepEqual(who({ client_id: 'app', session_kind: 'unauthenticated' }, mark), {
      kind: 'unauthenticated',
      clientId: 'app',
    })
    assert.deepEqual(who({ sub: 'ada', anon: 'true' }, mark), { kind: 'user', userId: 'ada', clientId: undefined })
    const kind = { claim: 'session_kind', value: 'guest' }
    assert.deepEqual(who({ client_id: 'app', session_kind: 'guest' }, kind), {
      kind: 'unauthenticated',
      clientId: 'app',
    })
  })

  it('takes ids of 1 to 1,024 characters without control characters', () => {
    for (const id of ['a', 'a'.repeat(1_024), ':{}', 'é', ' ']) assert.ok(isId(id))
    for (const id of ['undefined', 'null', 'NaN', '[object Object]', '\ud800', 'a\udc00b']) assert.ok(!isId(id), id)
    for (const id of ['', 'a'.repeat(1_025), 'a\n', '\u007f', '\u0000', '\u001f', 1, null, ['a']]) assert.ok(!isId(id))
    for (const one of [
      { kind: 'user', userId: 'a' },
      { kind: 'user', userId: 'a', clientId: 'b' },
      { kind: 'client', clientId: 'a' },
      { kind: 'unauthenticated', clientId: 'a' },
    ]) {
      assert.ok(!isRefusal(identityReturned(one)))
    }
    for (const one of [
      null,
      {},
      { kind: 'user' },
      { kind: 'user', userId: 'a', clientId: '' },
      { kind: 'client' },
      { kind: 'x', clientId: 'a' },
    ]) {
      assert.ok(isRefusal(identityReturned(one)))
    }
  })

  it('makes a session of it', () => {
    const user = makeSession('i', { scope: 'a' }, { kind: 'user', userId: 'ada' }, 't')
    assert.deepEqual(
      { ...user },
      {
        kind: 'user',
        issuer: 'i',
        userId: 'ada',
        sub: 'ada',
        clientId: '',
        scope: ['a'],
        claims: { scope: 'a' },
      },
    )
    assert.deepEqual([user.scopes, user.expiresAt], [['a'], undefined])
    assert.equal(makeSession('i', { exp: 7 }, { kind: 'user', userId: 'ada' }, 't').expiresAt, 7)
    assert.equal(makeSession('i', { sub: 's' }, { kind: 'client', clientId: 'app' }, 't').sub, 's')
    assert.equal(makeSession('i', { sub: 's' }, { kind: 'user', userId: 'ada' }, 't').sub, 's')
    const client = makeSession('i', { sub: 7 }, { kind: 'client', clientId: 'app' }, 't')
    assert.deepEqual(
      [client.sub, client.token, Object.isFrozen(client), 'userId' in client],
      [undefined, 't', true, false],
    )
  })
})

describe('keyMismatch() and isSignedWith()', () => {
  it('bound the size and the type of keys', () => {
    const rsa = generateKeys('rsa').publicKey
    const pss = generateKeys('rsa-pss').publicKey
    const curves = ['P-256', 'P-384', 'P-521'].map((namedCurve) => generateKeys('ec', namedCurve).publicKey)
    const ed = generateKeys('ed25519').publicKey
    const x = generateKeys('x25519').publicKey
    const keys = [rsa, pss, ...curves, ed, x]
    const fits = ASYMMETRIC.map((algorithm) =>
      keys.map((key) => (keyMismatch(algorithm, key) === undefined ? 1 : 0)).join(''),
    )
    assert.deepEqual(fits, [
      '1000000',
      '1000000',
      '1000000',
      '1000000',
      '1000000',
      '1000000',
      '0010000',
      '0001000',
      '0000100',
      '0000010',
      '0000010',
    ])
    for (const [bits, algorithm] of [
      [256, 'HS256'],
      [384, 'HS384'],
      [512, 'HS512'],
    ] as const) {
      assert.equal(keyMismatch(algorithm, createSecretKey(Buffer.alloc(bits / 8))), undefined)
      assert.match(keyMismatch(algorithm, createSecretKey(Buffer.alloc(bits / 8 - 1))) ?? '', /at least/)
      assert.match(keyMismatch(algorithm, rsa) ?? '', /takes a shared secret/)
    }
    assert.throws(() => keyFromJwk({ ...ed.export({ format: 'jwk' }), key_ops: 'verify' }, ASYMMETRIC), /key_ops/)
    assert.throws(() => keyFromJwk({ ...ed.export({ format: 'jwk' }), kid: 7 }, ASYMMETRIC), /kid/)
  })

  it('check nothing but the signature', () => {
    const secret = Buffer.alloc(32, 7)
    const key = keyFromSecret(secret, 'HS256')
    const input = `${part({ alg: 'HS256' })}.${part({ exp: 1, nbf: 9e9 })}`
    const signature = createHmac('sha256', secret).update(input).digest('base64url')
    assert.equal(isSignedWith(`${input}.${signature}`, 'HS256', key), true)
    assert.equal(
      isSignedWith(`${input}.${signature.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))}`, 'HS256', key),
      false,
    )
  })
})
