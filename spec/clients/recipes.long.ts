import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import 'reflect-metadata'
import { type CanActivate, Controller, Get, Module, UseGuards } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { createClient } from 'graphql-ws'
import { io } from 'socket.io-client'
import { WebSocket } from 'ws'
import { type BearerOptions, requireBearer } from '../../lib'
import { devIssuer } from '../../lib/testing'
import { page } from '../support/markdown'

const dev = devIssuer()
const soon = () => dev.token('ada', { expiresInSec: 1 })
const home = join(process.cwd(), 'spec/clients/.cache', `recipes-${process.pid}`)
after(() => rmSync(home, { recursive: true, force: true }))
const load = createRequire(__filename)

/** The recipes of a page as files, which trust this file's issuer. */
function recipes(path: string): (file: string) => Record<string, unknown> {
  const folder = join(home, path.replace(/\W+/g, '-'))
  mkdirSync(folder, { recursive: true })
  for (const { file, text } of page(process.cwd(), path).blocks) {
    if (file)
      writeFileSync(
        join(folder, file),
        text.replace("issuer: 'https://ident.example.org', audience: 'https://api.example.org'", '...options'),
      )
    if (file && text.includes('requireBearer({')) {
      const source = `const options = ${JSON.stringify({ ...dev.options, clockToleranceSec: 0, warnings: false })}\n`
      writeFileSync(join(folder, file), source + text.replace(/issuer: '[^']+', audience: '[^']+'/, '...options'))
    }
  }
  return (file) => load(join(folder, file)) as Record<string, unknown>
}

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

  it('Socket.IO lets in whoever has a token, until it expires', async () => {
    const port = await listening(recipe('socket-io.ts').server as Server)
    const connect = (token: string | undefined) => {
      const socket = io(`http://127.0.0.1:${port}`, { auth: { token }, reconnection: false, forceNew: true })
      after(() => socket.disconnect())
      return socket
    }
    for (const [token, refusal] of [
      [undefined, { status: 401, code: 'unauthorized' }],
      [dev.attack('expired'), { status: 401, code: 'invalid_token' }],
      [dev.token('tree', { kind: 'unauthenticated' }), { status: 403, code: 'insufficient_scope' }],
    ] as const) {
      const err = await new Promise<Error & { data?: unknown }>((resolve) =>
        connect(token).on('connect_error', resolve),
      )
      assert.deepEqual(err.data, refusal)
    }
    const socket = connect(dev.token('ada'))
    assert.equal(await socket.emitWithAck('who-am-i'), 'ada')
    const reason = await new Promise<string>((resolve) => connect(soon()).on('disconnect', resolve))
    assert.equal(reason, 'io server disconnect')
  })

  it('graphql-ws answers whoever has a token, and closes others with 4403', async () => {
    const port = await listening(recipe('graphql.ts').server as Server)
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
      page(process.cwd(), 'docs/websockets.md').blocks.find(({ text }) => text.includes('tokenFrom: '))?.text ?? ''
    const [, pattern = ''] = /tokenFrom: \(req\) => \/(.+)\/\.exec/.exec(source) ?? []
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
})
