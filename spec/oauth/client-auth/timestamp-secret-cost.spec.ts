import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { manualClock } from '../../../lib/testing'
import { CLIENT_KEYS, type RunningServer, post, startServer } from '../support'

describe('a timestamp secret', () => {
  const clock = manualClock()
  let running: RunningServer
  before(async () => {
    running = await startServer({ clock })
  })
  after(() => running.close())

  const signed = (time: number) => sign('sha256', Buffer.from(String(time)), CLIENT_KEYS.privateKey).toString('base64')
  const ask = async (secret: string) =>
    (
      await post(`${running.issuer}/token`, {
        grant_type: 'client_credentials',
        client_id: 'service',
        client_secret: secret,
      })
    ).status
  /** CPU milliseconds that each of these takes. */
  const cpuMs = async (secrets: string[], status: number) => {
    const before = process.cpuUsage()
    for (const secret of secrets) assert.equal(await ask(secret), status)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1_000 / secrets.length
  }

  it('signed long ago costs no more than a good one, and the same one is not checked twice', async (t) => {
    const hourAgo = clock.date() - 3_600_000
    const good = Array.from({ length: 30 }, (_, i) => signed(clock.date() + i))
    const old = Array.from({ length: 30 }, (_, i) => signed(hourAgo + i))
    await ask(signed(hourAgo - 1)) // hashes the times around now, once for all clients
    const goodMs = await cpuMs(good, 200)
    const oldMs = await cpuMs(old, 401)
    clock.advance(500) // 500 more times to hash, once
    const againMs = await cpuMs(old, 401)
    t.diagnostic(`CPU each: ${goodMs.toFixed(2)} ms good, ${oldMs.toFixed(2)} ms old, ${againMs.toFixed(2)} ms again`)
    assert.ok(oldMs < 3 * goodMs + 3, `${oldMs} ms, a good one ${goodMs} ms`)
    assert.ok(againMs < 3 * goodMs + 3, `${againMs} ms, a good one ${goodMs} ms`)
  })
})
