// Which address pays: networks and blocks of addresses, and warnings of a wrong trust proxy.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { type RequestListener, createServer, get } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, after, describe, it } from 'node:test'
import fc from 'fast-check'
import express from 'express'
import { type AdmittedMessage, addressSubject, budgetOf, throttle } from '../../../lib'
import { blockOf, networkOf } from '../../../lib/http/request/network'
import { heard, warned } from '../../support/heard'
import { packageCopy } from '../../support/package-copy'
import { serve } from '../../support/serve'
import { until } from '../../support/until'

describe('ipv6Prefix', () => {
  const LENGTHS: [prefix: number, network: string][] = [
    [32, '2001:db8::/32'],
    [40, '2001:db8:1200::/40'],
    [48, '2001:db8:1234::/48'],
    [56, '2001:db8:1234:ab00::/56'],
    [60, '2001:db8:1234:abc0::/60'],
    [64, '2001:db8:1234:abcd::/64'],
    [65, '2001:db8:1234:abcd:8000::/65'],
    [127, '2001:db8:1234:abcd:fedc:ba98:7654:fffe/127'],
    [128, '2001:db8:1234:abcd:fedc:ba98:7654:ffff/128'],
  ]
  const ip = '2001:db8:1234:abcd:fedc:ba98:7654:ffff'
  const named = (budgets: express.Express) => budgets.use((req, res) => void res.send(budgetOf(req).subject))
  const behindProxy = () => express().set('trust proxy', 1)

  for (const [ipv6Prefix, network] of LENGTHS)
    it(`of ${ipv6Prefix} has ${network} pay by default, by \`addressSubject\` and by a function`, async () => {
      const req = { ip, headers: {} } as express.Request
      assert.equal(addressSubject(req, { ipv6Prefix }), `address:${network}`)
      const options = [{}, { subject: addressSubject }, { subject: () => undefined }]
      for (const subject of options) {
        const { get } = await serve(named(behindProxy().use(throttle({ ...subject, ipv6Prefix }))))
        assert.equal((await get('/', { 'X-Forwarded-For': ip })).body, `address:${network}`)
        assert.equal((await get('/', { 'X-Forwarded-For': '203.0.113.9' })).body, 'address:203.0.113.9')
      }
    })
})

describe('networkOf()', () => {
  const networks: [network: string | undefined, ...addresses: unknown[]][] = [
    ['203.0.113.9', '203.0.113.9', '203.0.113.9:50001', '[203.0.113.9]:50001', ' 203.0.113.9 ', '203.0.113.9:'],
    ['203.0.113.9', '::ffff:203.0.113.9', '::FFFF:203.0.113.9', '::ffff:cb00:7109', '::ffff:203.0.113.9%eth0'],
    ['203.0.113.9', '0:0:0:0:0:ffff:203.0.113.9', '0000:0000:0000:0000:0000:ffff:cb00:7109', '::0:ffff:cb00:7109'],
    ['203.0.113.9', '[::ffff:203.0.113.9]:50001', '::ffff:203.0.113.9:50001', '[::ffff:cb00:7109%2]:80'],
    [
      '203.0.113.9',
      '64:ff9b::203.0.113.9',
      '64:FF9B::cb00:7109',
      '64:ff9b:0:0:0:0:cb00:7109',
      '[64:ff9b::cb00:7109]:1',
    ],
    ['2001:db8:1:200::/56', '2001:db8:1:2ff::1', '[2001:db8:1:2ff::1]', '[2001:db8:1:2ff::1]:50001'],
    ['2001:db8:1:200::/56', '2001:db8:1:2aa:dead:beef:0:1', '2001:db8:1:2aa:dead:beef:0:1:50001'],
    ['2001:db8:1:300::/56', '2001:db8:1:300::'],
    ['2001:db8:1:0::/56', '2001:DB8:1:3::1', '2001:db8:1::7', '[2001:db8:1::7%25eth0]:80'],
    ['2001:db8:0:0::/56', '2001:db8::ffff:203.0.113.9'],
    ['0:0:0:0::/56', '::1', '::', '::ffff:0:203.0.113.9'],
    ['fe80:0:0:0::/56', 'fe80::1%eth0', 'fe80::1%eth0:80', '[fe80::1%eth0]:80'],
    ['64:ff9b:1:0::/56', '64:ff9b:1::203.0.113.9'],
    [
      undefined,
      undefined,
      null,
      7,
      ['203.0.113.9'],
      '',
      'unix:',
      'unknown',
      '_hidden',
      '203.0.113',
      '203.0.113.9.7:80',
    ],
    [
      undefined,
      '[]:80',
      '[203.0.113.9',
      '2001:db8::1::2',
      'localhost:80',
      '203.0.113.9:80:80',
      '203.0.113.9, 10.0.0.1',
    ],
  ]
  for (const [network, ...addresses] of networks) {
    for (const address of addresses) {
      it(`${JSON.stringify(address)} is ${network}`, () => assert.equal(networkOf(address), network))
    }
  }

  it('keeps two addresses apart exactly where their first 56 bits differ', () => {
    const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 })
    fc.assert(
      fc.property(groups, groups, (a, b) => {
        const prefix = (g: number[]) => [...g.slice(0, 3), (g[3] as number) >> 8].join()
        const address = (g: number[]) => g.map((group) => group.toString(16)).join(':')
        assert.equal(networkOf(address(a)) === networkOf(address(b)), prefix(a) === prefix(b))
        assert.equal(networkOf(address(a)), networkOf(address([...a.slice(0, 4), ...b.slice(4)])))
      }),
    )
  })

  it('says of any text in a moment whether it is an address', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const network = networkOf(text)
        assert.ok(network === undefined || /^[\d.]+$|^[\da-f:]+::\/56$/.test(network))
      }),
    )
  })
})

describe('blockOf()', () => {
  it('is the /16 of an IPv4 address and the /32 of an IPv6 one, in every spelling', () => {
    for (const [block, ...addresses] of [
      ['203.0.0.0/16', '203.0.113.9', '203.0.255.255:80', '::ffff:203.0.0.1', '64:ff9b::203.0.7.7'],
      ['2001:db8::/32', '2001:db8::1', '2001:db8:ffff:ffff::1', '[2001:DB8:1::1]:443'],
      ['2001:db9::/32', '2001:db9::1'],
      ['0:0::/32', '::1'],
      ['unknown', 'unix:', ''],
    ] as [string, ...string[]][]) {
      for (const address of addresses) assert.equal(blockOf(networkOf(address) ?? 'unknown'), block, address)
    }
  })
})

describe('the address that pays', () => {
  const said = warned({ after }, 'TOLLGATE_TRUST_PROXY')
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
  after(() => rmSync(folder, { recursive: true }))

  for (const [what, field] of [
    ['IPv4:port', (i: number) => `203.0.113.9:${50_000 + i}`],
    ['[IPv6]:port', (i: number) => `[2001:db8::${i}]:${50_000 + i}`],
    ['a mapped address in hex', (i: number) => `[::ffff:cb00:7109]:${50_000 + i}`],
  ] as const) {
    it(`is one for all connections of a client behind a proxy that writes ${what}`, async () => {
      const app = express()
        .set('trust proxy', 1)
        .use(throttle({ limitMs: 100, windowMs: 86_400_000 }))
      app.get('/', (req, res) => {
        budgetOf(req).charge(200)
        res.end()
      })
      const { url } = await serve(app)
      const statuses: number[] = []
      for (let i = 1; i <= 3; i++) {
        statuses.push((await fetch(url, { headers: { 'x-forwarded-for': field(i) } })).status)
      }
      assert.deepEqual(statuses, [200, 429, 429])
    })
  }

  it('is unknown on a Unix socket behind a subnet that is trusted, with a warning that names what was received', async () => {
    const app = express().set('trust proxy', 'loopback').use(throttle())
    app.get('/', (req, res) => void res.send(budgetOf(req).subject))
    assert.equal(await askOverSocket(app, '203.0.113.9'), 'address:unknown')
    await until(() => said.some((text) => /received undefined.*a subnet never/.test(text)))

    app.set('trust proxy', 1)
    assert.equal(await askOverSocket(app, '203.0.113.9'), 'address:203.0.113.9')
    assert.equal(await askOverSocket(app, 'unknown'), 'address:unknown')
    assert.equal(await askOverSocket(app, '_gazonk'), 'address:unknown')
    assert.equal(said.length, 1, 'once')
  })

  it("is the socket's outside Express", async () => {
    const { get } = await serve((req, res) => void res.end(addressSubject(req)))
    assert.equal((await get('/')).body, 'address:127.0.0.1')
  })

  async function askOverSocket(app: RequestListener, forwardedFor: string): Promise<string> {
    const socketPath = join(folder, 'app.sock')
    const server = createServer(app)
    await new Promise<void>((resolve) => server.listen(socketPath, resolve))
    const text = await new Promise<string>((resolve, reject) => {
      const headers = { 'x-forwarded-for': forwardedFor }
      get({ socketPath, headers, agent: false }, (res) => {
        res.setEncoding('utf8').on('data', resolve)
      }).on('error', reject)
    })
    server.close()
    return text
  }
})

describe('TOLLGATE_TRUST_PROXY', () => {
  const FOR = { 'x-forwarded-for': '203.0.113.9' }
  const FORWARDED = { forwarded: 'for=203.0.113.9;proto=https' }
  const app = () => express().disable('x-powered-by')
  const behind = (proxies: number) => app().set('trust proxy', proxies)
  const edge = (field: string, client: string, forwarded = '203.0.113.9, 172.70.1.1') => {
    return { [field]: client, 'x-forwarded-for': forwarded }
  }
  const mounted = (child: express.Express) => app().set('trust proxy', false).use(child)

  async function warnings(t: TestContext, act: () => Promise<unknown>): Promise<string[]> {
    const emitted = t.mock.method(process, 'emitWarning', () => undefined)
    await act()
    return emitted.mock.calls.map(({ arguments: [message] }) => String(message))
  }

  async function ask(to: express.Express, headers: Record<string, string>, child = to) {
    child.use(packageCopy().throttle()) // says again what others have said once
    child.get('/', (req, res) => void res.send(budgetOf(req).subject))
    assert.match((await (await serve(to)).get('/', headers)).body, /^address:/)
  }

  const right: [what: string, app: express.Express, headers: Record<string, string>, child?: express.Express][] = [
    ['the app has chosen false, and a client sends X-Forwarded-For', app().set('trust proxy', false), FOR],
    ['the app has chosen false, and a client sends Forwarded', app().set('trust proxy', false), FORWARDED],
    ['the app has chosen 0', app().disable('trust proxy').set('trust proxy', 0), FOR],
    ['the proxy sends both fields', app().set('trust proxy', 1), { ...FOR, ...FORWARDED }],
    ['the proxy sends X-Forwarded-For', app().set('trust proxy', 'loopback'), FOR],
    ['nothing was forwarded', app(), {}],
    ['a proxy asks for clients of an intranet', behind(1), { 'x-forwarded-for': '10.1.2.3' }],
    ['there are as many proxies as are told', behind(2), { 'x-forwarded-for': '203.0.113.7, 10.0.0.2' }],
    ['X-Real-IP has a private address', app(), { 'x-real-ip': '10.1.2.3' }],
    ['X-Real-IP stands beside an X-Forwarded-For that is read', behind(1), { ...FOR, 'x-real-ip': '203.0.113.9' }],
    ['the app has chosen false, and X-Real-IP comes', app().set('trust proxy', false), { 'x-real-ip': '203.0.113.7' }],
    ['X-Real-IP has no address', app(), { 'x-real-ip': 'unknown' }],
    ['a content network tells who pays', behind(2), edge('cf-connecting-ip', '2001:db8::9', '2001:db8::7, 172.70.1.1')],
    ['it tells the same with a port', behind(2), edge('cloudfront-viewer-address', '203.0.113.9:46532')],
    [
      'a proxy asked it for the client that pays',
      behind(3),
      edge('fastly-client-ip', '192.0.2.2', '203.0.113.9, 192.0.2.2, 172.70.1.1'),
    ],
    [
      'a client without a content network sends its field',
      app().set('trust proxy', false),
      edge('cf-connecting-ip', '203.0.113.8'),
    ],
  ]
  for (const [what, to, headers] of right) {
    it(`is not warned of where ${what}`, async (t) => assert.deepEqual(await warnings(t, () => ask(to, headers)), []))
  }

  it('is not warned of where the app above has chosen', async (t) => {
    const child = app()
    assert.deepEqual(await warnings(t, () => ask(mounted(child), FOR, child)), [])
  })

  it('is not warned of where a client has gone, and with it its address: no handler runs, and nobody is charged', async (t) => {
    const paid = heard<AdmittedMessage>(t, 'admitted')
    const ran: string[] = []
    const arrived: express.Request[] = []
    const pass: (() => void)[] = []
    const to = app()
    to.use((req, _res, next) => {
      arrived.push(req)
      pass.push(next)
    })
    to.use('/own', throttle({ subject: addressSubject, name: 'own' }))
    to.use('/by-ip', throttle({ subject: (req) => req.ip as string }))
    to.use(throttle())
    to.use((req) => void ran.push(req.path))
    to.use((_err: unknown, _req: express.Request, _res: express.Response, _next: express.NextFunction) => {
      ran.push('error handler')
    })
    const { port } = await serve(to)
    const said = await warnings(t, async () => {
      for (const [i, path] of ['/', '/by-ip', '/own'].entries()) {
        const socket = connect(port, '127.0.0.1').on('error', () => undefined)
        socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
        await until(() => arrived.length, i + 1)
        if (i === 1) socket.resetAndDestroy()
        else socket.destroy()
        await until(() => arrived[i]?.socket.destroyed)
        pass[i]?.()
      }
    })
    assert.deepEqual([said, paid, ran], [[], [], []])
  })

  const wrong: [app: express.Express, headers: Record<string, string>, warning: RegExp][] = [
    [app(), FOR, /with X-Forwarded-For while trust proxy is not set.*app\.set\('trust proxy', 1\)/],
    [app(), FORWARDED, /with Forwarded and without X-Forwarded-For.*let the proxy write X-Forwarded-For/],
    [app().set('trust proxy', true), FOR, /a client may choose its address/],
    [behind(1), { 'x-forwarded-for': '203.0.113.7, 10.0.0.3, 10.0.0.2' }, /private network pays.* 3\) if there are 3/],
    [
      app(),
      { 'cf-connecting-ip': '2001:db8::7' },
      /cf-connecting-ip has a public one.*let the proxy write X-Forwarded/,
    ],
    [
      behind(1),
      edge('cf-connecting-ip', '203.0.113.9'),
      /edge of a content.*X-Forwarded-For has another.* 2\) if there are 2/,
    ],
    [
      behind(1),
      edge('cloudfront-viewer-address', '2001:db8::1:46532', '2001:db8::1, 64.252.64.1'),
      /'trust proxy', 2\)/,
    ],
    [
      behind(1),
      edge('x-azure-socketip', '203.0.113.9', '192.0.2.1,203.0.113.9, 172.70.1.1, 192.0.2.9'),
      /'trust proxy', 3\)/,
    ],
    [behind(1), edge('true-client-ip', '203.0.113.9'), /'trust proxy', 2\)/],
    [
      behind(1),
      edge('fastly-client-ip', '203.0.113.9', '172.70.1.1'),
      /fastly-client-ip has another, which Express does not read/,
    ],
  ]
  for (const [to, headers, warning] of wrong) {
    it(`is warned of once: ${warning.source.slice(0, 50)}`, async (t) => {
      const [said = '', ...more] = await warnings(t, () => ask(to, headers))
      assert.match(said, warning)
      assert.deepEqual(more, [])
    })
  }
})
