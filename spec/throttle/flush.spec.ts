import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import express from 'express'
import { type Throttle, budgetOf, redisStore, throttle } from '../../lib'
import { LONG_WINDOW_MS, chargedMs, heldBy, openWindowKey } from '../chaos/shared-total'
import { cutWire } from '../support/cut-wire'
import { listen } from '../support/serve'
import { redisOfSuite } from '../support/redis'
import { until } from '../support/until'

const OPTIONS = { windowMs: LONG_WINDOW_MS, limitMs: 3_600_000 }

/** What asks a throttle on a user's behalf. */
async function asks(t: TestContext, throttled: Throttle) {
  const app = express().use(throttled, (req, res) => {
    budgetOf(req).charge(100)
    res.end()
  })
  const { get, close } = await listen(app)
  t.after(close)
  return (user: string) => get('/', { 'X-User': user })
}

describe('throttled.flush()', () => {
  const own = redisOfSuite()

  async function over(t: TestContext, port = own.server.port) {
    const subject = (req: express.Request) => req.get('X-User') ?? null
    const throttled = throttle({ ...OPTIONS, subject, store: redisStore(`redis://127.0.0.1:${port}`) })
    t.after(() => throttled.close())
    await throttled.ready()
    return { throttled, ask: await asks(t, throttled) }
  }
  const stored = (user: string) => own.redis.hgetallBuffer(openWindowKey(user, 'default'))
  const held = async (user: string) => heldBy(await stored(user)).reduce((sum, [ms, running]) => sum + ms + running, 0)

  it('publishes what was charged before it', async (t) => {
    const { throttled, ask } = await over(t)
    for (let i = 0; i < 20; i++) await ask('ada')
    const [usage] = await throttled.usage('ada')
    await ask('ada')
    await throttled.flush()
    const published = chargedMs(await stored('ada'))
    assert.ok(published >= (usage?.spentMs ?? Infinity) + 100, `${published} of ${usage?.spentMs} + 100`)
  })

  it('gives back what was granted ahead', async (t) => {
    const { throttled, ask } = await over(t)
    await until(async () => {
      await ask('bob')
      return (await held('bob')) > 0 // a grant: nothing runs now
    })
    await throttled.flush()
    assert.equal(await held('bob'), 0)
  })

  it('may be called twice at once, and for nobody', async (t) => {
    const { throttled, ask } = await over(t)
    await throttled.flush()
    await ask('cyd')
    await Promise.all([throttled.flush(), throttled.flush()])
    assert.ok(chargedMs(await stored('cyd')) >= 100)
  })

  it('resolves during an outage, and what it could not publish is published later', async (t) => {
    const wire = await cutWire(own.server.port)
    t.after(() => wire.cut())
    const { throttled, ask } = await over(t, wire.port)
    await ask('dan')
    await throttled.flush()
    await wire.cut()
    await until(async () => {
      await ask('dan')
      await throttled.flush()
      return (await throttled.usage('dan'))[0]?.degraded
    })
    const [usage] = await throttled.usage('dan')
    assert.ok(chargedMs(await stored('dan')) < (usage?.spentMs ?? 0))
    await wire.mend()
    await until(async () => {
      await throttled.flush()
      return chargedMs(await stored('dan')) >= (usage?.spentMs ?? Infinity)
    })
  })

  it('resolves after close(), and beside it', async (t) => {
    const { throttled, ask } = await over(t)
    await ask('eve')
    await Promise.all([throttled.close(), throttled.flush()])
    await throttled.flush()
    assert.ok(chargedMs(await stored('eve')) >= 100)
  })

  it('resolves where there is no store, and keeps what was charged', async (t) => {
    const throttled = throttle({ ...OPTIONS, subject: () => 'fay' })
    const ask = await asks(t, throttled)
    await ask('fay')
    await throttled.flush()
    assert.ok(((await throttled.usage('fay'))[0]?.spentMs ?? 0) >= 100)
  })
})
