import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, describe, it } from 'node:test'
import { parse } from 'yaml'
import { settingsIn } from '../settings'
import { Visitor } from '../visitor'
import { freePort, startRedis } from '../../spec/support/redis'
import { until } from '../../spec/support/until'
import { TYPESCRIPT } from '../../spec/support/typescript'

const folder = join(process.cwd(), 'demo')
const read = (file: string) => readFileSync(join(folder, file), 'utf8')

interface Service {
  readonly image?: string
  readonly build?: { readonly context: string; readonly dockerfile: string }
  readonly network_mode?: string
  readonly ports?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: object
}
const { services } = parse(read('compose.yaml'), { merge: true }) as { services: Readonly<Record<string, Service>> }
const apis = Object.values(services).filter(({ build }) => build)
const environments = apis.map(({ environment }) => environment ?? {})

describe('demo/compose.yaml', () => {
  it('starts two processes of the demo, with settings that the demo takes', () => {
    const settings = environments.map(settingsIn)
    assert.equal(settings.length, 2)
    const proxied = new Set(read('nginx.conf').match(/(?<=server 127\.0\.0\.1:)\d+/g))
    assert.deepEqual(new Set(settings.map(({ port }) => String(port))), proxied)
    for (const { origin, redisUrl } of settings) {
      assert.equal(services.proxy?.ports?.[0], `${new URL(origin ?? '').port}:8080`)
      assert.ok(new URL(redisUrl ?? '').hostname in services, redisUrl)
    }
  })

  it('names services, conditions and files that are there', () => {
    for (const { build, network_mode, depends_on = {} } of apis) {
      assert.ok(existsSync(join(folder, build?.context ?? '', build?.dockerfile ?? '')))
      assert.equal(network_mode, 'service:proxy')
      for (const [name, { condition }] of Object.entries(depends_on)) {
        assert.ok(condition === 'service_started' || services[name]?.healthcheck, `${name}: ${condition}`)
      }
    }
    const [command] = /(?<=^CMD ).+$/m.exec(read('Dockerfile')) ?? []
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: { start: string } }
    assert.ok(scripts.start.endsWith((JSON.parse(command ?? '') as string[]).join(' ')))
    assert.match(read('nginx.conf'), /listen 8080;/)
  })

  it('has processes that share tokens, keys and windows behind one address', async (t) => {
    const { origin, ports } = await proxied(t)
    const redis = await startRedis()
    t.after(() => redis.stop())
    const address = { ORIGIN: origin, REDIS_URL: `redis://127.0.0.1:${redis.port}`, WINDOW_MS: '86400000' }
    await Promise.all(environments.map((env, i) => started(t, { ...env, ...address, PORT: String(ports[i]) })))

    const token = await new Visitor(origin).userToken('grace', 'family-app') // its requests take turns
    const headers = { Authorization: `Bearer ${token}` }
    const get = (i: number, path: string) => fetch(`http://127.0.0.1:${ports[i]}${path}`, { headers })
    const spent = await get(0, '/platform/throttled?processingTime=2000')
    assert.equal(spent.status, 200)
    await until(async () => {
      const { status, headers } = await get(1, '/platform/users/current')
      return status === 200 && Number(headers.get('X-THROTTLE-MILLIS-USED')) >= 2_000
    })
    const keys = await Promise.all([0, 1].map(async (i) => (await get(i, '/cis-web/oauth2/v3/jwks')).text()))
    assert.match(keys[0] ?? '', /"kid"/)
    assert.equal(keys[1], keys[0])
  })
})

/** What nginx does: an address before two ports, which take turns; where one does not listen yet, the other is asked. */
async function proxied(t: TestContext): Promise<{ origin: string; ports: readonly number[] }> {
  const ports = [await freePort(), await freePort()]
  let turn = 0
  const server = createServer((req, res) => {
    const { method, url: path, headers } = req
    const ask = (port: number | undefined, failed: () => void) => {
      const onward = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (answer) => {
        res.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(res)
      })
      onward.on('error', failed)
      onward.on('socket', (socket) => socket.once('connect', () => req.pipe(onward)))
    }
    const [first, second] = turn++ % 2 === 0 ? ports : ports.toReversed()
    ask(first, () => ask(second, () => res.writeHead(502).end()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ports }
}

async function started(t: TestContext, env: NodeJS.ProcessEnv): Promise<void> {
  const child: ChildProcess = spawn(process.execPath, [...TYPESCRIPT, 'demo/main.ts'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const up = () =>
    fetch(`http://127.0.0.1:${env.PORT}/platform/status`).then(
      ({ ok }) => ok,
      () => false,
    )
  await until(async () => child.exitCode !== null || (await up()))
  assert.equal(child.exitCode, null)
}
