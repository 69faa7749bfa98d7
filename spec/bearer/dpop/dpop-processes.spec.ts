import assert from 'node:assert/strict'
import { hash, randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { Redis } from 'ioredis'
import { SignJWT, type JWK } from 'jose'
import { sign } from 'jsonwebtoken'
import { thumbprint } from '../../../lib/bearer/dpop/thumbprint'
import { seenProofs } from '../../redis/seen-proofs'
import { startRedis } from '../../support/redis'
import { assertIs, atMost, above, until } from '../../support/until'
import { type Child, startChild } from '../processes/child'
import { generateKeys } from '../../support/generate-keys'

const issuer = 'https://as.test'
const audience = 'api'
const secret = 's'.repeat(32)
const origin = 'https://api.test'
const { privateKey, publicKey } = generateKeys('ec')
const jwk = publicKey.export({ format: 'jwk' }) as JWK
const cnf = { jkt: thumbprint(publicKey) }
const token = sign({ iss: issuer, aud: audience, sub: 'ada', exp: 4_102_444_800, cnf }, secret)

function proof(claims: object = {}) {
  const ath = hash('sha256', token, 'base64url')
  const iat = Math.floor(Date.now() / 1_000)
  return new SignJWT({ jti: randomUUID(), htm: 'GET', htu: `${origin}/`, iat, ath, ...claims })
    .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk })
    .sign(privateKey)
}

const ask = (child: Child, dpop: string) => child.get('/', { authorization: `DPoP ${token}`, dpop })

describe('redisProofs() over two processes', async () => {
  const redis = await startRedis()
  after(() => redis.stop())
  const owner = { after: (fn: () => Promise<void>) => void after(fn) }
  const config = {
    redis: `redis://127.0.0.1:${redis.port}`,
    issuer,
    audience,
    secret,
    dpop: { origin, nonceSecret: 'n'.repeat(32) },
  }
  const both = await Promise.all([startChild(owner, config), startChild(owner, config)])
  const [here, there] = both
  let nonce = ''
  for (const child of both) {
    await until(async () => {
      nonce = (await ask(child, await proof())).headers.get('dpop-nonce') ?? nonce
      return (await ask(child, await proof({ nonce }))).status === 200
    })
  }

  it('lets one of two replays in, wherever and however close together they come', async () => {
    for (let i = 0; i < 20; i++) {
      const once = await proof({ nonce })
      const statuses = (await Promise.all([ask(here, once), ask(there, once)])).map(({ status }) => status).sort()
      assert.deepEqual(statuses, [200, 401])
      assert.equal((await ask(here, once)).status, 401)
    }
  })

  it('keeps one key a proof, a hash, for little longer than the proof could be used', async () => {
    const client = new Redis(redis.port)
    await client.flushall()
    assert.equal((await ask(here, await proof({ nonce, jti: 'ada:{x}' }))).status, 200)
    const [key = '', ...more] = await client.keys('tollgate:dpop:*')
    assert.deepEqual(more, [])
    assert.match(key, /^tollgate:dpop:[\w-]{43}$/)
    const left = await client.pttl(key)
    assertIs(left, above(0))
    assertIs(left, atMost(151_000))
    client.disconnect()
  })

  it('says which right is missing', async (t) => {
    await redis.command('ACL', 'SETUSER', 'reader', 'on', '>pw', '~*', '+@read', '+@connection')
    const proofs = seenProofs(`redis://reader:pw@127.0.0.1:${redis.port}`)
    t.after(() => proofs.close())
    await assert.rejects(
      async () => proofs.note('x', 10, 0),
      /denies its user a right .*: allow the user ~tollgate:\* \+set$/,
    )
  })

  it('answers 503 while Redis is out of reach, and recovers', async () => {
    redis.signal('SIGSTOP')
    const answer = await ask(here, await proof({ nonce }))
    redis.signal('SIGCONT')
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1'])
    await until(async () => (await ask(here, await proof({ nonce }))).status, 200)
  })
})

describe('redisProofs()', () => {
  it('tells a replay from a new proof, and rejects once it is closed', async (t) => {
    const redis = await startRedis()
    t.after(() => redis.stop())
    const proofs = seenProofs(`redis://127.0.0.1:${redis.port}`, { prefix: 'api:' })
    let tries = 0 // an answer that was given up may have come after all
    const note = async () => proofs.note(`first ${++tries}`, 60, 0)
    await until(() => note().catch(() => undefined), 'new')
    assert.equal(await proofs.note(`first ${tries}`, 60, 0), 'replay')
    assert.equal(await proofs.note('second', 60, 0), 'new')
    void proofs.close()
    void proofs.close()
    await assert.rejects(Promise.resolve(proofs.note('third', 60, 0)))
  })
})
