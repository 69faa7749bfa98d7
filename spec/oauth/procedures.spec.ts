import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { describe, it } from 'node:test'
import { hashPassword, memoryOAuthStore, userDirectory, verifyPassword } from '../../lib/oauth'
import { isPassword } from '../../lib/oauth/directories/password'
import { Codes } from '../../lib/oauth/records/authorizations'
import { Records } from '../../lib/oauth/records/records'
import { serverOfSuite } from './support'
import { UserAgent, request } from './user-agent'
import { assertIs, below } from '../support/until'

const running = serverOfSuite()
const page = (more = {}) => new UserAgent(running.issuer).authorize(running.issuer, request(more))

it('RFC 6749 §10.10: 20,000 codes differ in every bit and reveal neither time nor user (O135)', async () => {
  const codes = new Codes(new Records(memoryOAuthStore()), 60_000, 60_000)
  const authorization = { grantId: 'g', clientId: 'web', userId: 'u', scope: [], authTimeSec: 1, sid: 's' }
  const seen = new Set<string>()
  const ones = new Array<number>(256).fill(0)
  for (let i = 0; i < 20_000; i++) {
    const code = await codes.issue({ authorization, redirectUri: 'https://client.test/cb' })
    assert.match(code, /^[\w-]{43}$/)
    seen.add(code)
    Buffer.from(code, 'base64url').forEach((byte, at) => {
      for (let bit = 0; bit < 8; bit++) ones[at * 8 + bit] = (ones[at * 8 + bit] as number) + ((byte >> bit) & 1)
    })
  }
  assert.equal(seen.size, 20_000)
  // Half of them, give or take eight standard deviations.
  for (const [bit, count] of ones.entries()) assertIs(Math.abs(count - 10_000), below(8 * 71), `bit ${bit}: ${count}`)
})

describe('passwords', () => {
  it('longer than 1,024 bytes are refused without a hash, all others cost the same (O153)', async () => {
    const hash = await hashPassword('a'.repeat(73), 10)
    assert.equal(await isPassword('a'.repeat(73), hash, [10]), true)
    assert.equal(await isPassword('a'.repeat(72), hash, [10]), false, 'all of it counts')
    for (const length of [1, 72, 73, 1_024]) {
      const password = 'é'.repeat(length / 2) || 'x'
      assert.equal(await isPassword(password, await hashPassword(password, 10), [10]), true, String(length))
    }
    for (const length of [1_025, 4_096, 1_048_576]) {
      await assert.rejects(hashPassword('a'.repeat(length), 10), /1 to 1,024 bytes/)
      assert.equal(await isPassword('a'.repeat(length), hash, [10]), false)
    }
    for (const [length, status] of [
      [4_096, 403],
      [60_000, 403],
      [1_048_576, 413],
    ] as const) {
      assert.equal((await (await page()).logIn('ada', 'a'.repeat(length))).status, status, String(length))
    }
  })

  it('verifyPassword() takes PHC strings, and hashes for unknown names too', async (t) => {
    const hash = await hashPassword('analytical engine', 10)
    assert.match(hash, /^\$scrypt\$ln=10,r=8,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
    assert.equal(await verifyPassword('analytical engine', hash), true)
    assert.equal(await verifyPassword('analytical engin', hash), false)
    const hashes = t.mock.method(crypto, 'scrypt').mock
    assert.equal(await verifyPassword('analytical engine', undefined, 11), false)
    assert.deepEqual(
      hashes.calls.map(({ arguments: [, , , options] }) => (options as { N: number }).N),
      [2 ** 11],
    )
    for (const wrong of ['', 'plain', hash.replace('ln=10', 'ln=31'), hash.replace('r=8', 'r=9'), `${hash}=`])
      await assert.rejects(verifyPassword('x', wrong), TypeError, wrong)
  })

  it('an unknown name and a hash of any cost take the same work as a wrong password (O151)', async (t) => {
    const [cheap, dear] = await Promise.all([hashPassword('one', 12), hashPassword('two', 14)])
    const users = userDirectory(
      [
        { id: '1', username: 'ada', passwordHash: cheap },
        { id: '2', username: 'bob', passwordHash: dear },
        { id: '3', username: 'cyd', password: 'three' },
      ],
      { cost: 11 },
    )
    // The parameters of scrypt decide its time. The time on a busy machine would prove nothing.
    const hashes = t.mock.method(crypto, 'scrypt').mock
    const workOf = async (name: string, password: string) => {
      hashes.resetCalls()
      const user = await users.authenticate(name, password)
      return { id: user?.id, work: hashes.calls.map(({ arguments: [, , bytes, options] }) => [bytes, options]) }
    }
    const { work } = await workOf('nobody', 'difference engine')
    const costs = work.map(([, options]) => Math.log2((options as crypto.ScryptOptions).N as number))
    assert.deepEqual(costs.sort(), [11, 12, 14], 'one hash of each cost')
    for (const name of ['ada', 'bob', 'cyd']) {
      assert.deepEqual(await workOf(name, 'difference engine'), { id: undefined, work }, name)
    }
    assert.deepEqual(await workOf('bob', 'two'), { id: '2', work })
    assert.deepEqual(await workOf('cyd', 'three'), { id: '3', work })
  })
})

describe('text from a URL', () => {
  const SCRIPT = '<svg onload=alert(1)>"\'`${1}{{1}}'

  it('is on no page: errors, descriptions and other made-up parameters (O157)', async () => {
    const agent = new UserAgent(running.issuer)
    const query = new URLSearchParams({ error: SCRIPT, error_description: SCRIPT, error_uri: SCRIPT, message: SCRIPT })
    for (const path of ['/login', '/authorization', '/terms', '/logout', '/userinfo', '/token']) {
      for (const method of ['GET', 'POST']) {
        const { text, status } = await agent.request(`${running.issuer}${path}?${query.toString()}`, { method })
        assertIs(status, below(500), `${method} ${path}`)
        assert.ok(!text.includes('onload'), `${method} ${path}`)
      }
    }
    for (const name of ['client_id', 'redirect_uri', 'scope', 'response_type', 'state', 'ui_locales', 'login_hint']) {
      const { text, location } = await page({ [name]: SCRIPT })
      assert.ok(!text.includes('<svg'), name)
      assert.ok(!(location ?? '').includes('<'), name)
    }
  })

  it('never decides where a login continues (O159)', async () => {
    const away = ['//evil.test', '/\\evil.test', 'https:evil.test', 'javascript:alert(1)', 'https://evil.test/']
    for (const to of away) {
      for (const name of ['return_to', 'next', 'redirect', 'continue', 'target_link_uri', 'post_logout_redirect_uri']) {
        const login = await page({ [name]: to })
        const back = await (await login.submit({ username: 'ada', password: 'analytical engine', [name]: to })).finish()
        assert.equal(new URL(back.location ?? '').origin, 'https://client.test', `${name}=${to}`)
      }
      const logout = new URLSearchParams({ post_logout_redirect_uri: to, return_to: to })
      const out = await new UserAgent(running.issuer).request(`${running.issuer}/logout?${logout.toString()}`)
      assert.equal(out.location, null, to)
    }
  })
})
