// The time that a client takes to send its body is not charged, whoever reads it; work on it is.
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type TestContext, describe, it } from 'node:test'
import busboy from 'busboy'
import type express from 'express'
import type { RequestHandler } from 'express'
import multer from 'multer'
import { processingTime, throttle } from '../../../lib'
import { manualClock } from '../../../lib/testing'
import { EXPRESS_VERSIONS } from '../../support/express-versions'
import { connected, serve } from '../../support/serve'
import { including, until } from '../../support/until'

/** No window ends amid a spec. */
const DAY_MS = 86_400_000

interface Upload {
  readonly type: string
  readonly body: string
  /** Reads the body and calls `next`. */
  readonly reader: (express: Express) => RequestHandler
}

type Express = typeof express

const text = 'x'.repeat(10_000)
const json = { type: 'application/json', body: JSON.stringify({ text }) }
const file =
  `--part\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n${text}` +
  '\r\n--part--\r\n'
const form = { type: 'multipart/form-data; boundary=part', body: file }

const UPLOADS: Record<string, Upload> = {
  'express.json()': { ...json, reader: (express) => express.json() },
  'express.json() behind a second response made of the first': {
    ...json,
    reader: (express) => (req, res, next) =>
      processingTime()(req, Object.create(res) as typeof res, () => void express.json()(req, res, next)),
  },
  'express.raw()': { type: 'application/octet-stream', body: text, reader: (express) => express.raw() },
  'express.text()': { type: 'text/plain', body: text, reader: (express) => express.text() },
  'express.urlencoded()': {
    type: 'application/x-www-form-urlencoded',
    body: `text=${text}`,
    reader: (express) => express.urlencoded({ extended: false }),
  },
  'multer()': { ...form, reader: () => multer({ storage: multer.memoryStorage() }).single('file') },
  'busboy()': {
    ...form,
    reader: () => (req, _res, next) =>
      void req.pipe(
        busboy({ headers: req.headers })
          .on('file', (_name, stream) => void stream.resume())
          .on('close', next),
      ),
  },
  'pipe()': { ...json, reader: () => (req, _res, next) => void req.pipe(sink()).on('finish', next) },
  'pipeline()': { ...json, reader: () => (req, _res, next) => void pipeline(req, sink()).then(() => next(), next) },
  'for await': {
    ...json,
    reader: () => async (req, _res, next) => {
      for await (const chunk of req) assert.ok(chunk)
      next()
    },
  },
  'readable events': {
    ...json,
    reader: () => (req, _res, next) =>
      void req
        .on('readable', () => {
          while (req.read() !== null);
        })
        .on('end', next),
  },
}

function sink(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() })
}

/** An app with a throttle before a reader and a handler, and a connection to it. */
async function uploading(t: TestContext, version: Express, reader: RequestHandler, workMs = 0) {
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const throttled = throttle({ subject: () => 'ada', limitMs: 1_000_000, windowMs: DAY_MS, clock })
  const app = version()
  app.set('env', 'test')
  const requests: IncomingMessage[] = []
  app.use(throttled, (req, _res, next) => (requests.push(req), next()), reader)
  app.use((_req, res) => {
    clock.advance(workMs)
    res.json({})
  })
  const { port } = await serve(app)
  const socket = await connected(t, port)
  const spentMs = async () => (await throttled.usage('ada'))[0]?.spentMs
  return { clock, socket, requests, spentMs }
}

/** Sends parts, between which `betweenMs` pass, each once the one before has been read. Resolves with the answer. */
async function send(
  parts: readonly string[],
  { socket, requests, clock }: Awaited<ReturnType<typeof uploading>>,
  betweenMs: number,
): Promise<string> {
  let sent = 0
  for (const part of parts) {
    if (sent > 0) clock.advance(betweenMs)
    socket.write(part)
    sent += Buffer.byteLength(part)
    await until(() => requests[0]?.socket.bytesRead, sent)
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
  }
  await until(() => socket.text, including('\r\n\r\n'))
  return socket.text
}

const head = (type: string, length: string) =>
  `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\n${length}\r\n\r\n`

/** The text in ten parts. */
function tenths(body: string): string[] {
  const length = Math.ceil(body.length / 10)
  return Array.from({ length: 10 }, (_, i) => body.slice(i * length, (i + 1) * length))
}

for (const [version, express] of EXPRESS_VERSIONS) {
  describe(`throttle() on ${version} leaves out the time that a slow client takes to send`, () => {
    for (const [name, { type, body, reader }] of Object.entries(UPLOADS)) {
      it(`to ${name}, with a Content-Length`, async (t) => {
        const app = await uploading(t, express, reader(express), 30)
        const [first = '', ...rest] = tenths(body)
        const answer = await send([head(type, `Content-Length: ${body.length}`) + first, ...rest], app, 60_000 / 10)
        assert.match(answer, /^HTTP\/1.1 200 /)
        assert.match(answer, /X-PROCESSING-TIME: 30\r\n/i)
        assert.equal(await app.spentMs(), 30)
      })

      it(`to ${name}, in chunks`, async (t) => {
        const app = await uploading(t, express, reader(express), 30)
        const chunks = tenths(body).map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
        const answer = await send([head(type, 'Transfer-Encoding: chunked'), ...chunks, '0\r\n\r\n'], app, 500)
        assert.match(answer, /^HTTP\/1.1 200 /)
        assert.equal(await app.spentMs(), 30)
      })
    }
  })

  describe(`throttle() on ${version} charges a handler for its own work on an upload`, () => {
    it('while an iterator is not asked for more', async (t) => {
      const app = await uploading(t, express, async (req, _res, next) => {
        for await (const chunk of req) {
          assert.ok(chunk)
          await new Promise(setImmediate) // Node fetches ahead here
          app.clock.advance(20)
        }
        next()
      })
      const [first = '', ...rest] = tenths(text)
      await send([head('text/plain', `Content-Length: ${text.length}`) + first, ...rest], app, 500)
      assert.equal(await app.spentMs(), 200)
    })

    it('while a slow destination holds a pipe back', async (t) => {
      const slow = new Writable({
        highWaterMark: 1,
        write: (_chunk, _encoding, done) =>
          void setImmediate(() => {
            app.clock.advance(20)
            done()
          }),
      })
      const app = await uploading(t, express, (req, _res, next) => void req.pipe(slow).on('finish', next))
      const [first = '', ...rest] = tenths(text)
      await send([head('text/plain', `Content-Length: ${text.length}`) + first, ...rest], app, 500)
      assert.equal(await app.spentMs(), 200)
    })
  })

  describe(`throttle() on ${version} and a request whose body needs no waiting`, () => {
    it('leaves one without a body as it is', async (t) => {
      const own: string[][] = []
      const app = await uploading(t, express, (req, _res, next) => {
        own.push(['read', 'push'].filter((name) => Object.hasOwn(req, name)))
        next()
      })
      const nothing = [head('text/plain', 'Content-Length: 0'), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n']
      await send(nothing, app, 0)
      await until(() => own.length, 2)
      assert.deepEqual(own, [[], []])
    })
  })
}
