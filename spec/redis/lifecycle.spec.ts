// A store keeps no process alive but for an answer that is awaited, and connects when it is used.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { databaseOfSuite, freePort } from '../support/redis'
import { TYPESCRIPT } from '../support/typescript'
import { above, until } from '../support/until'

const LIB = join(process.cwd(), 'lib')
const own = databaseOfSuite()

/** Runs a script in a process of its own until that ends by itself, and says what it printed. */
function run(script: string, before = ''): Promise<string> {
  const source = `${before}
    const { redisProofs, redisRevocations, redisStore, throttle } = require(${JSON.stringify(join(LIB, 'index'))})
    const oauth = require(${JSON.stringify(join(LIB, 'oauth/index'))})
    void (async () => { ${script} })()`
  const env = { ...process.env, NODE_OPTIONS: '', NODE_NO_WARNINGS: '1' }
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [...TYPESCRIPT, '-e', source], { env, timeout: 120_000 }, (err, stdout) => {
      if (err) reject(new Error(`it did not end by itself, or failed: ${err.message}`, { cause: err }))
      else resolve(stdout)
    })
  })
}

describe('a script with a store and no server', { concurrency: 2 }, () => {
  it('ends by itself though its throttle was not closed', async () => {
    assert.equal(await run(`throttle({ store: redisStore('${own.url}') }); console.log('made')`), 'made\n')
  })

  it('ends by itself while it is connected, and while Redis is down', async () => {
    const down = `redis://127.0.0.1:${await freePort()}`
    const script = (to: string) => `
      throttle({ store: redisStore('${to}') })
      redisRevocations('${to}')
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      console.log('waited')`
    assert.deepEqual(await Promise.all([run(script(own.url)), run(script(down))]), ['waited\n', 'waited\n'])
  })

  it('gets the answers that it waits for', async () => {
    const script = `
      const throttled = throttle({ store: redisStore('${own.url}') })
      await throttled.ready()
      // A first answer may come late on a busy machine: then the store is down until the next heartbeat.
      while ((await throttled.usage('ada'))[0].degraded) await new Promise((resolve) => setTimeout(resolve, 20))
      console.log('shared')
      await throttled.reset('ada')
      const store = oauth.redisOAuthStore('${own.url}')
      await store.set('key', 'value', 60_000)
      console.log(await store.get('key'), await redisProofs('${own.url}').note('proof', 60, 0))
      const revocations = redisRevocations('${own.url}')
      await revocations.ready()
      await revocations.revokeToken('https://as.test', 'id')
      await throttled.close()
      console.log('done')`
    assert.equal(await run(script), 'shared\nvalue new\ndone\n')
  })

  it('stays alive while devIssuer() serves', async () => {
    const script = `
      const served = await require('${LIB}/testing').devIssuer().serve()
      setTimeout(() => void served.close().then(() => console.log('closed')), 50).unref()`
    assert.equal(await run(script), 'closed\n')
  })

  it('is served where a window stands in for globals, as that of Jest’s jsdom', async () => {
    const window = `for (const name of ['TextDecoder', 'TextEncoder', 'setImmediate', 'clearImmediate', 'structuredClone', 'fetch'])
        delete globalThis[name]
      for (const name of ['setTimeout', 'setInterval']) {
        const real = globalThis[name]
        globalThis[name] = (...args) => Number(real(...args)[Symbol.toPrimitive]())
      }`
    const script = `
      const down = 'redis://127.0.0.1:${await freePort()}'
      const app = require('express')().use(throttle(), throttle({ name: 'shared', store: redisStore('${own.url}') }))
      app.use(throttle({ name: 'down', store: redisStore(down) }), (req, res) => res.end('ok'))
      const server = app.listen(0, '127.0.0.1', () => {
        require('node:http').get({ port: server.address().port, agent: false }, (res) => {
          console.log(res.statusCode)
          process.exit()
        })
      })`
    assert.equal(await run(script, window), '200\n')
  })
})

it('a store that nobody uses opens no connection', async (t) => {
  let connections = 0
  const server = createServer(() => void connections++)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const to = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`
  const stores = `redisStore('${to}'); oauth.redisOAuthStore('${to}'); redisProofs('${to}')`
  await run(`${stores}; await new Promise((resolve) => setTimeout(resolve, 300))`)
  assert.equal(connections, 0)
  await run(`throttle({ store: redisStore('${to}') }); await new Promise((resolve) => setTimeout(resolve, 300))`)
  await until(() => connections, above(0)) // this server would have seen one
})
