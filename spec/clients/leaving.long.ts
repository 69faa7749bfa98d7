import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import { type UIMessageChunk, pipeUIMessageStreamToResponse } from 'ai'
import express from 'express'
import { createSchema, createYoga } from 'graphql-yoga'
import { createProxyMiddleware } from 'http-proxy-middleware'
import { type Handling, KNOWN_MS, UNSEEN_MS, charged } from '../http/measure/aborted-request'
import { serve } from '../support/serve'

/** A request that a framework serves: its work begins, takes so long, loses its client, and is stopped. */
type Serve = (handling: Handling, begun: () => Promise<void>) => Promise<unknown>

const WORKED_MS = 500

const FRAMEWORKS: Record<string, Serve> = {
  'http-proxy-middleware 4': async ({ req, res, next }, begun) => {
    const { port } = await serve((asked) => {
      const stopped = new Promise((resolve) => asked.on('error', () => undefined).once('close', resolve))
      void begun()
        .then(() => stopped)
        .then(stop)
    })
    let stop = () => undefined as void
    const stopped = new Promise<void>((resolve) => (stop = resolve))
    void createProxyMiddleware({ target: `http://127.0.0.1:${port}` })(req, res, next)
    await stopped
  },
  'GraphQL Yoga': async ({ req, res }, begun) => {
    let stop = () => undefined as void
    const stopped = new Promise<void>((resolve) => (stop = resolve))
    const slow = async (_parent: unknown, _args: unknown, { request }: { request: Request }) => {
      request.signal.addEventListener('abort', () => stop())
      await begun()
      await stopped
    }
    const schema = createSchema({ typeDefs: 'type Query { slow: String }', resolvers: { Query: { slow } } })
    await createYoga({ graphqlEndpoint: '/', schema, logging: false })(req, res)
    await stopped
  },
  'the AI SDK': async ({ res }, begun) => {
    let stop = () => undefined as void
    const stopped = new Promise<void>((resolve) => (stop = resolve))
    const stream = new ReadableStream<UIMessageChunk>({
      start: (model) => model.enqueue({ type: 'text-start', id: '1' }),
      cancel: () => stop(),
    })
    void pipeUIMessageStreamToResponse({ response: res, stream })
    await begun()
    await stopped
  },
}

for (const [name, handle] of Object.entries(FRAMEWORKS)) {
  const leave = (t: TestContext, options: Parameters<typeof charged>[3]) => {
    const begun = (of: Handling) => (of.work(WORKED_MS), of.clientLeaves())
    const way = {
      request: `${name === 'the AI SDK' ? 'POST' : 'GET'} /?query=%7Bslow%7D HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`,
      workedMs: WORKED_MS,
      handle: (of: Handling) => handle(of, () => begun(of)),
    }
    return charged(t, express, way, options)
  }
  describe(`throttle() and a client of ${name} that leaves after ${WORKED_MS} ms`, () => {
    it('charges a price, since the framework never ends the response', async (t) =>
      assert.equal((await leave(t, {})).later, UNSEEN_MS))
    it('charges what requests of a known route take', async (t) =>
      assert.equal((await leave(t, { isKnown: true })).later, KNOWN_MS))
    it('charges what it took with endsWithClient', async (t) =>
      assert.equal((await leave(t, { endsWithClient: true })).later, WORKED_MS))
  })
}
