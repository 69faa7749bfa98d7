import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { after, describe, it } from 'node:test'
import 'reflect-metadata'
import { type CanActivate, Controller, type INestApplication, Get, Module, UseGuards } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { AbstractGraphQLDriver, Context, GraphQLModule, type GqlModuleOptions, Query, Resolver } from '@nestjs/graphql'
import express, { type Express, type Request, type RequestHandler } from 'express'
import { type GraphQLSchema, graphql } from 'graphql'
import { createClient } from 'graphql-ws'
import { io } from 'socket.io-client'
import { WebSocket } from 'ws'
import {
  type AdmittedMessage,
  type BearerOptions,
  type ChargedMessage,
  type DenialError,
  type Throttle,
  requireBearer,
  sessionOf,
  throttle,
} from '../../lib'
import { devIssuer } from '../../lib/testing'
import { page } from '../support/markdown'
import { assertIs, atLeast, above, until } from '../support/until'
import { recipesIn } from './recipe-files'

const dev = devIssuer()
const soon = () => dev.token('ada', { expiresInSec: 1 })
const home = join(process.cwd(), 'spec/clients/.cache', `recipes-${process.pid}`)
after(() => rmSync(home, { recursive: true, force: true }))

/** The recipes of a page, which trust this file's issuer. */
const recipes = (path: string) => recipesIn(home, path, TRUSTING)
const TRUSTING = `const options = ${JSON.stringify({ ...dev.options, clockToleranceSec: 0, warnings: false })}`

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

describe('recipes of docs/websockets.md', () => {
  const recipe = recipes('docs/websockets.md')

  const socketIo = recipe('socket-io.ts') as { server: Server; throttled: Throttle }
  const ioPort = listening(socketIo.server)
  after(() => socketIo.throttled.close())
  async function connect(token: string | undefined, transport = 'websocket') {
    const options = { auth: { token }, transports: [transport], reconnection: false, forceNew: true }
    const socket = io(`http://127.0.0.1:${await ioPort}`, options)
    after(() => socket.disconnect())
    return socket
  }
  const refusal = async (token: string | undefined, transport?: string) => {
    const socket = await connect(token, transport)
    const err = await new Promise<Error & { data?: unknown }>((resolve) => socket.on('connect_error', resolve))
    return err.data as DenialError
  }

  it('Socket.IO lets in whoever has a token, until it expires', async () => {
    for (const [token, expected] of [
      [undefined, [401, 'unauthorized']],
      [dev.attack('expired'), [401, 'invalid_token']],
      [dev.token('tree', { kind: 'unauthenticated' }), [403, 'insufficient_scope']],
    ] as const) {
      const { status, code, headers } = await refusal(token)
      assert.deepEqual([status, code], expected)
      assert.match(String(headers?.['WWW-Authenticate']), /^Bearer/)
    }
    const late = await connect(soon())
    const reason = await new Promise<string>((resolve) => late.on('disconnect', resolve))
    assert.equal(reason, 'io server disconnect')
  })

  it("Socket.IO charges each message, and no waiting, to the user's budget, and refuses a socket without time left", async () => {
    const { throttled } = socketIo
    for (const transport of ['websocket', 'polling']) {
      const token = dev.token(transport)
      let subject = ''
      subscribe('express-tollgate:charged', (message) => (subject = (message as ChargedMessage).subject))
      const socket = await connect(token, transport)
      assert.deepEqual(await socket.emitWithAck('search', 'ada'), { found: ['ADA'] })
      await until(() => subject.endsWith(`:${transport}`))
      await until(async () => Number((await throttled.usage(subject))[0]?.endsInMs), above(3_000))
      const [spent] = await throttled.usage(subject)
      await new Promise((resolve) => setTimeout(resolve, 500))
      assert.equal((await throttled.usage(subject))[0]?.spentMs, spent?.spentMs, 'waiting costs nothing')
      const charge = (message: unknown) => (message as ChargedMessage).req.throttle?.charge(10_001)
      subscribe('express-tollgate:charged', function once(message) {
        unsubscribe('express-tollgate:charged', once)
        charge(message)
      })
      await socket.emitWithAck('search', 'grace')
      const refused = (await socket.emitWithAck('search', 'mary')) as Record<string, unknown>
      assert.equal(refused.error, 'throttled')
      assertIs(Number(refused.retryAfterSec), atLeast(1))
      const { status, headers } = await refusal(token, transport)
      assert.equal(status, 429)
      assert.match(String(headers?.['Retry-After']), /^[1-9]\d*$/)
    }
  })

  it('graphql-ws answers whoever has a token, and closes others with 4403', async () => {
    const port = await listening(recipes('docs/graphql.md')('graphql-ws.ts').server as Server)
    const connect = (authorization: string | undefined, closed: (code: number) => void = () => undefined) => {
      const client = createClient({
        ...{ url: `ws://127.0.0.1:${port}/graphql`, webSocketImpl: WebSocket, retryAttempts: 0, lazy: false },
        connectionParams: { authorization },
        onNonLazyError: () => undefined,
        on: { closed: (event) => closed((event as CloseEvent).code) },
      })
      after(() => client.dispose())
      return client
    }
    const ask = connect(`Bearer ${dev.token('ada')}`).iterate({ query: '{ whoAmI }' })
    assert.deepEqual((await ask.next()).value, { data: { whoAmI: 'ada' } })
    for (const authorization of [undefined, 'Bearer x', `Bearer ${soon()}`]) {
      assert.equal(await new Promise<number>((resolve) => connect(authorization, resolve)), 4403)
    }
  })

  it('ws takes the token from a subprotocol, wherever it stands, and does not say it back', async () => {
    const port = await listening(recipe('ws.ts').server as Server)
    const open = (protocols: string[]) => new WebSocket(`ws://127.0.0.1:${port}`, protocols)
    const bearer = `bearer.${dev.token('ada')}`
    for (const protocols of [
      ['chat.v1', bearer],
      [bearer, 'chat.v1'],
      ['other', bearer, 'chat.v1'],
    ]) {
      const socket = open(protocols)
      await new Promise((resolve) => socket.on('open', resolve))
      assert.equal(socket.protocol, 'chat.v1')
      socket.send('who am I?')
      const said = await new Promise<Buffer>((resolve) => socket.on('message', resolve))
      assert.equal(said.toString(), 'You are ada')
      socket.close()
    }
    for (const [protocols, challenge] of [
      [['chat.v1'], 'Bearer'],
      [['chat.v1', 'bearer.x'], /^Bearer error="invalid_token"/],
    ] as const) {
      const socket = open([...protocols]).on('error', () => undefined)
      const [status, field] = await new Promise<[number | undefined, string | undefined]>((resolve) =>
        socket.on('unexpected-response', (_req, res) => resolve([res.statusCode, res.headers['www-authenticate']])),
      )
      assert.equal(status, 401)
      if (typeof challenge === 'string') assert.equal(field, challenge)
      else assert.match(field ?? '', challenge)
    }
    const late = open(['chat.v1', `bearer.${soon()}`])
    assert.equal(await new Promise<number>((resolve) => late.on('close', resolve)), 4401)
  })

  it('the place of the token for Express takes it in any order', async () => {
    const source =
      page(process.cwd(), 'docs/bearer.md').blocks.find(({ text }) => text.includes('tokenFrom: ['))?.text ?? ''
    const [, pattern = ''] = /\(req\) => \/(.+)\/\.exec/.exec(source) ?? []
    const token = dev.token('ada')
    const tokenFrom: BearerOptions['tokenFrom'] = (req) =>
      new RegExp(pattern).exec(req.get('Sec-WebSocket-Protocol') ?? '')?.[1]
    for (const field of [`chat, bearer.${token}`, `bearer.${token}, chat`, `bearer.${token}`, `a,bearer.${token},b`]) {
      const req = { method: 'GET', url: '/', headers: {}, get: () => field }
      const res = { req, setHeader: () => undefined, getHeaderNames: () => [] }
      const session = await new Promise((resolve, reject) =>
        requireBearer({ ...dev.options, tokenFrom, dialect: 'standard' })(req as never, res as never, (err) =>
          err ? reject(err as Error) : resolve((req as { auth?: { sub: string } }).auth?.sub),
        ),
      )
      assert.equal(session, 'ada', field)
    }
  })
})

/** GraphQL over HTTP without Apollo; like its driver it puts `req` alone into the context. */
class PlainDriver extends AbstractGraphQLDriver {
  start({ schema, path = '/graphql' }: GqlModuleOptions): Promise<void> {
    const app = this.httpAdapterHost.httpAdapter.getInstance<Express>()
    app.use(path, express.json(), (req, res, next) => {
      const { query } = req.body as { query: string }
      graphql({ schema: schema as GraphQLSchema, source: query, contextValue: { req } }).then(
        (done) => res.json(done),
        next,
      )
    })
    return Promise.resolve()
  }

  stop(): Promise<void> {
    return Promise.resolve()
  }
}

describe('the guard of docs/nestjs.md', () => {
  it('keeps the challenge, settles, and logs no error', async () => {
    const { BearerGuard } = recipes('docs/nestjs.md')('bearer.guard.ts') as { BearerGuard: new () => CanActivate }
    class Routes {
      me() {
        return 'ada'
      }
    }
    const me = Object.getOwnPropertyDescriptor(Routes.prototype, 'me') as PropertyDescriptor
    Get('me')(Routes.prototype, 'me', me)
    UseGuards(BearerGuard)(Routes.prototype, 'me', me)
    Controller()(Routes)
    class App {}
    Module({ controllers: [Routes] })(App)
    const errors: unknown[] = []
    const quiet = () => undefined
    const logger = {
      log: quiet,
      warn: quiet,
      debug: quiet,
      verbose: quiet,
      error: (...words: unknown[]) => errors.push(words),
    }
    const app = await NestFactory.create(App, { logger })
    await app.listen(0, '127.0.0.1')
    after(() => app.close())
    const ask = async (authorization?: string) => {
      const answer = await fetch(`${await app.getUrl()}/me`, { headers: authorization ? { authorization } : {} })
      return [answer.status, answer.headers.get('www-authenticate'), await answer.text()] as const
    }
    assert.deepEqual(await ask(`Bearer ${dev.token('ada')}`), [200, null, 'ada'])
    const [status, challenge, body] = await ask()
    assert.deepEqual([status, challenge], [401, 'Bearer'])
    assert.deepEqual(JSON.parse(body), {
      statusCode: 401,
      message: 'An access token is required',
      error: 'unauthorized',
    })
    assert.match((await ask(`Bearer ${dev.attack('expired')}`))[1] ?? '', /error="invalid_token"/)
    assert.deepEqual(errors, [])
  })

  it('checks the request of a GraphQL resolver, and its refusal becomes an error of the operation', async () => {
    const { GraphqlBearerGuard } = recipes('docs/nestjs.md')('graphql-bearer.guard.ts') as {
      GraphqlBearerGuard: new () => CanActivate
    }
    class Resolvers {
      me(req: Request) {
        return sessionOf(req).sub
      }
      open() {
        return 'open'
      }
    }
    for (const field of ['me', 'open'] as const) {
      const descriptor = Object.getOwnPropertyDescriptor(Resolvers.prototype, field) as PropertyDescriptor
      Query(() => String, { name: field })(Resolvers.prototype, field, descriptor)
      if (field === 'me') UseGuards(GraphqlBearerGuard)(Resolvers.prototype, field, descriptor)
    }
    Context('req')(Resolvers.prototype, 'me', 0)
    Resolver()(Resolvers)
    class App {}
    const imports = [GraphQLModule.forRoot({ driver: PlainDriver, autoSchemaFile: true })]
    Module({ imports, providers: [Resolvers] })(App)
    const app = await NestFactory.create(App, { logger: false })
    await app.listen(0, '127.0.0.1')
    after(() => app.close())
    const ask = async (query: string, authorization?: string) => {
      const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) }
      const body = JSON.stringify({ query })
      const answer = await fetch(`${await app.getUrl()}/graphql`, { method: 'POST', headers, body })
      const { data, errors } = (await answer.json()) as { data: unknown; errors?: { message: string }[] }
      return [data, errors?.map(({ message }) => message), answer.headers.get('www-authenticate')]
    }
    assert.deepEqual(await ask('{ me open }', `Bearer ${dev.token('ada')}`), [
      { me: 'ada', open: 'open' },
      undefined,
      null,
    ])
    assert.deepEqual(await ask('{ open }'), [{ open: 'open' }, undefined, null])
    assert.deepEqual(await ask('{ me }'), [null, ['An access token is required'], 'Bearer'])
    const [, said, challenge] = await ask('{ me }', `Bearer ${dev.attack('expired')}`)
    assert.deepEqual(said, ['The access token has expired'])
    assert.match(String(challenge), /error="invalid_token"/)
  })

  it('throttles by plan as middleware, exempts a route, and answers by a filter that keeps the header fields', async (t) => {
    process.env.PORT = '0'
    t.after(() => delete process.env.PORT)
    const recipe = recipes('docs/nestjs.md')
    const { ThrottleModule } = recipe('throttle.module.ts') as { ThrottleModule: object }
    class Routes {
      spend() {
        return 'spent'
      }
      health() {
        return 'well'
      }
    }
    for (const route of ['spend', 'health'] as const)
      Get(route)(
        Routes.prototype,
        route,
        Object.getOwnPropertyDescriptor(Routes.prototype, route) as PropertyDescriptor,
      )
    Controller()(Routes)
    Module({ controllers: [Routes] })(ThrottleModule as new () => unknown)
    const { start } = recipe('main.ts') as { start: () => Promise<INestApplication> }
    const app = await start()
    t.after(() => app.close())
    t.after(() => process.removeAllListeners('SIGTERM'))
    const ask = (path: string, plan?: string) => {
      const token = dev.token('ada', { claims: { plan } })
      return app
        .getUrl()
        .then((url) => fetch(`${url}/${path}`, plan ? { headers: { authorization: `Bearer ${token}` } } : {}))
    }
    assert.equal(await (await ask('health')).text(), 'well')
    const anonymous = await ask('spend')
    assert.deepEqual([anonymous.status, anonymous.headers.get('x-throttle-window-size')], [200, '1000'])
    const bad = await fetch(`${await app.getUrl()}/spend`, { headers: { authorization: 'Bearer x.y' } })
    assert.deepEqual([bad.status, ((await bad.json()) as { error: unknown }).error], [401, 'invalid_token'])
    const free = await ask('spend', 'free')
    assert.deepEqual([free.status, free.headers.get('x-throttle-window-size')], [200, '5000'])
    assert.equal((await ask('spend', 'pro')).headers.get('x-throttle-window-size'), '60000')
    const { throttled } = app.get<{ throttled: Throttle }>(ThrottleModule as never)
    subscribe('express-tollgate:admitted', charge)
    t.after(() => unsubscribe('express-tollgate:admitted', charge))
    await until(async () => Number((await throttled.usage(subject))[0]?.endsInMs), above(3_000))
    await ask('spend', 'pro')
    const refused = await ask('spend', 'free')
    assert.equal(refused.status, 429)
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/)
    const { message, ...body } = (await refused.json()) as Record<string, unknown>
    assert.deepEqual(body, { statusCode: 429, error: 'throttled' })
    assert.match(String(message), /^No processing time is left/)
  })

  it('shows the dashboard to operators, above the throttle', async (t) => {
    const recipe = recipes('docs/nestjs.md')
    const { ThrottleModule } = recipe('throttle.module.ts') as { ThrottleModule: new () => unknown }
    const { operate } = recipe('operations.ts') as { operate: (app: INestApplication, guard: RequestHandler) => void }
    const app = await NestFactory.create(ThrottleModule, { logger: false })
    operate(app, (req, res, next) => (req.headers.authorization === 'Basic b3A=' ? next() : void res.status(401).end()))
    await app.listen(0, '127.0.0.1')
    t.after(() => app.close())
    const ask = async (headers: Record<string, string>) => fetch(`${await app.getUrl()}/admin/throttle/`, { headers })
    assert.equal((await ask({})).status, 401)
    const page = await ask({ authorization: 'Basic b3A=' })
    assert.deepEqual([page.status, page.headers.get('x-throttle-window-size')], [200, null])
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  })

  it('takes a limit from a database', async () => {
    const { loadLimit, limitFor } = recipes('docs/nestjs.md')('plan-limit.ts') as {
      loadLimit: (limitOf: (userId: string) => Promise<number>) => RequestHandler
      limitFor: (req: Request) => number
    }
    const limitOf = (userId: string) =>
      userId === 'ada' ? Promise.resolve(7_000) : Promise.reject(new Error('no database'))
    const app = express()
      .use(requireBearer({ ...dev.options, optional: true }), loadLimit(limitOf), throttle({ limitMs: limitFor }))
      .get('/', (_req, res) => void res.end())
    const port = await listening(createServer(app))
    const ask = (user?: string) =>
      fetch(`http://127.0.0.1:${port}/`, user ? { headers: { authorization: `Bearer ${dev.token(user)}` } } : {})
    assert.equal((await ask('ada')).headers.get('x-throttle-window-size'), '7000')
    assert.equal((await ask()).headers.get('x-throttle-window-size'), '1000')
    assert.equal((await ask('bob')).status, 500)
  })

  const subject = `user:${dev.issuer.length}:${dev.issuer}:ada`
  const charge = (message: unknown) => setImmediate(() => (message as AdmittedMessage).req.throttle?.charge(20_000))
})
