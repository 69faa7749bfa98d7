// What is charged where the client goes away, by what the handler does then; in both versions of Express.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type Server, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, pipeline } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import type { ReadableStream } from 'node:stream/web'
import { createGzip } from 'node:zlib'
import type { Response } from 'express'
import { budgetOf } from '../../../lib'
import { endlessFile } from './endless-file'
import { type Handling, KNOWN_MS, UNSEEN_MS, type Way, charged } from './aborted-request'
import { EXPRESS_VERSIONS } from '../../support/express-versions'
import { until } from '../../support/until'

/** Answers with the beginning of a response, and no more. */
const endless: Server = createServer((_req, res) => void res.write('a'))
before(() => new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve)))
after(() => {
  endless.close()
  endless.closeAllConnections()
})

const folder = mkdtempSync(join(tmpdir(), 'tollgate-aborts-'))
after(() => rmSync(folder, { recursive: true, force: true }))
writeFileSync(join(folder, 'photo'), Buffer.alloc(300_000, 'x'))

const halfUpload = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"half'

/** Works 40 ms, loses its client, works on for 500 ms, and then goes on in one of many ways. */
const afterWork = (go: (handling: Handling) => unknown) => async (handling: Handling) => {
  handling.work(40)
  await handling.clientLeaves()
  handling.work(500)
  await go(handling)
}

/** Works 40 ms, pipes something to its response, and loses its client. */
const whilePiping = (pipe: (handling: Handling) => unknown) => async (handling: Handling) => {
  handling.work(40)
  const piped = once(handling.res, 'pipe')
  await Promise.all([piped, pipe(handling)])
  await handling.clientLeaves()
}

/** The same, and works on for 500 ms. */
const workingBeside = (pipe: (handling: Handling) => unknown) => async (handling: Handling) => {
  await whilePiping(pipe)(handling)
  handling.work(500)
}

/** The same from a source that loses its client in the midst of a step, and works on for 500 ms of it. */
const midStep = (pipe: (source: AsyncIterable<string>, handling: Handling) => unknown) => (handling: Handling) =>
  called((done) => {
    handling.work(40)
    async function* source() {
      yield 'a'
      await handling.clientLeaves()
      handling.work(500)
      setImmediate(done)
      yield 'b'
    }
    pipe(source(), handling)
  })

const hasFile = (res: Response) => Object.hasOwn(res.getHeaders(), 'last-modified')

const called = (start: (done: (err?: unknown) => void) => void) => new Promise<unknown>((resolve) => start(resolve))

/** A handler begins the response, calls next() and works on: no handler is left in Express. */
const passedOn = (begin: (res: Response) => unknown): Way => ({
  workedMs: 540,
  chargedMs: UNSEEN_MS,
  handle: async ({ res, next, work, clientLeaves }) => {
    begin(res)
    next()
    work(40)
    await called(setImmediate)
    await clientLeaves()
    work(500)
  },
})

const WAYS: Record<string, Way> = {
  'res.sendFile() without a callback, which nobody ever ends': {
    workedMs: 540,
    handle: afterWork(async ({ res }) => {
      res.sendFile(join(folder, 'photo'))
      await until(() => hasFile(res))
    }),
  },
  'res.download()': {
    workedMs: 540,
    handle: afterWork(async ({ res }) => {
      await called((done) => res.download(join(folder, 'photo'), done))
      await until(() => hasFile(res))
    }),
  },
  'express.static()': {
    workedMs: 540,
    handle: afterWork(({ req, res, express }) =>
      called((done) => void express.static(folder, { setHeaders: () => done() })(req, res, done)),
    ),
  },
  'stream.pipe(res)': {
    workedMs: 540,
    chargedMs: UNSEEN_MS,
    handle: afterWork(({ res }) =>
      called((done) =>
        Readable.from(['a', 'b'])
          .once('data', () => done())
          .pipe(res),
      ),
    ),
  },
  'pipeline(stream, res)': {
    workedMs: 540,
    chargedMs: Number.parseInt(process.versions.node) < 24 ? UNSEEN_MS : 540,
    handle: afterWork(async ({ res, next }) => {
      try {
        await called((done) => pipeline(Readable.from(['a', 'b']), res, done))
      } catch (err) {
        next(err) // from Node 24 on
        await until(() => res.writableEnded)
      }
    }),
  },
  'a pipe from a file': {
    workedMs: 40,
    handle: whilePiping(({ res }) => endlessFile().pipe(res)),
  },
  'a pipeline from a file': {
    workedMs: 40,
    handle: whilePiping(({ res }) => pipeline(endlessFile(), res, () => undefined)),
  },
  "a pipe from another server's response": {
    workedMs: 40,
    handle: whilePiping(
      ({ res }) => void get({ port: (endless.address() as AddressInfo).port }, (from) => from.pipe(res)),
    ),
  },
  'a pipe from the body of a fetch': {
    workedMs: 40,
    chargedMs: UNSEEN_MS,
    handle: whilePiping(async ({ req, res }) => {
      const { body } = await fetch(`http://127.0.0.1:${(endless.address() as AddressInfo).port}`)
      const { signal } = budgetOf(req)
      Readable.fromWeb(body as ReadableStream, { signal })
        .on('error', () => undefined)
        .pipe(res)
    }),
  },
  'a pipe from a generator in the midst of a step': {
    workedMs: 540,
    chargedMs: UNSEEN_MS,
    handle: midStep((source, { res }) => Readable.from(source).pipe(res)),
  },
  'a pipeline from a generator in the midst of a step, which writes what it made': {
    workedMs: 540,
    chargedMs: UNSEEN_MS,
    handle: midStep((source, { res }) => pipeline(source, res, () => undefined)),
  },
  'a pipeline that compresses what a generator makes': {
    workedMs: 540,
    chargedMs: UNSEEN_MS,
    handle: midStep((source, { res }) => pipeline(Readable.from(source), createGzip(), res, () => undefined)),
  },
  'a generator, and a listener for unpipe': {
    workedMs: 540,
    chargedMs: UNSEEN_MS,
    handle: midStep((source, { res }) => {
      res.on('unpipe', () => undefined)
      void (async () => {
        for await (const chunk of source) res.write(chunk)
      })()
    }),
  },
  'early return, by the signal': {
    workedMs: 540,
    chargedMs: UNSEEN_MS,
    handle: afterWork(({ req }) => assert.equal(budgetOf(req).signal.aborted, true)),
  },
  'nothing more, which nobody can see': {
    workedMs: 40,
    chargedMs: UNSEEN_MS,
    handle: async ({ work, clientLeaves }) => {
      work(40)
      await clientLeaves()
    },
  },
  'res.json()': { workedMs: 540, handle: afterWork(({ res }) => void res.json({ late: true })) },
  'res.write() again and again': {
    workedMs: 740,
    handle: afterWork(({ res, work }) => {
      res.write('a')
      work(100)
      res.write('b')
      work(100)
      res.end()
    }),
  },
  'budgetOf(req).charge()': {
    workedMs: 540,
    chargedMs: UNSEEN_MS,
    handle: afterWork(({ req }) => budgetOf(req).charge(0)),
  },
  'a thrown error': {
    workedMs: 540,
    handle: afterWork(async ({ res, next }) => {
      next(Object.assign(new Error('on purpose'), { status: 400 }))
      await until(() => res.writableEnded)
    }),
  },
  'req.destroy()': {
    workedMs: 90,
    chargedMs: UNSEEN_MS,
    handle: async ({ req, res, work }) => {
      work(90)
      const closed = once(res, 'close')
      req.destroy()
      await closed
    },
  },
  'res.destroy()': {
    workedMs: 90,
    handle: async ({ res, work }) => {
      work(90)
      const closed = once(res, 'close')
      res.destroy()
      await closed
    },
  },
  'a pipeline whose source breaks': {
    workedMs: 90,
    handle: async ({ res, work }) => {
      work(90)
      const closed = once(res, 'close')
      const source = new Readable({ read: () => void source.destroy(new Error('on purpose')) })
      pipeline(source, res, () => undefined)
      await closed
    },
  },
  'an error after the header, for which Express destroys the connection': {
    workedMs: 90,
    handle: async ({ res, next, work }) => {
      res.write('half')
      work(90)
      const closed = once(res, 'close')
      next(new Error('on purpose'))
      await closed
    },
  },
  'a response that a handler has passed on and works at, whose client closes': passedOn((res) => res.writeHead(200)),
  'a response that a handler has passed on and works at, whose client resets': passedOn((res) => res.write('unread')),
  'req.socket.destroy()': {
    workedMs: 90,
    chargedMs: UNSEEN_MS,
    handle: async ({ req, res, work }) => {
      work(90)
      const closed = once(res, 'close')
      req.socket.destroy()
      await closed
    },
  },
  'an upload that express.json() was reading': {
    request: halfUpload,
    workedMs: 40,
    handle: async ({ req, res, next, express, work, clientLeaves }) => {
      work(40)
      const read = called((done) => void express.json()(req, res, done))
      await clientLeaves()
      next(await read)
      await until(() => res.writableEnded)
    },
  },
  'an upload that was read': {
    request: halfUpload,
    workedMs: 40,
    chargedMs: UNSEEN_MS,
    handle: async ({ req, work, clientLeaves }) => {
      work(40)
      req.on('error', () => undefined).on('data', () => undefined)
      await clientLeaves()
    },
  },
  'an upload that was piped to its own response, and work beside it': {
    request: halfUpload,
    workedMs: 540,
    chargedMs: UNSEEN_MS,
    handle: workingBeside(({ req, res }) => req.on('error', () => undefined).pipe(res)),
  },
  'an upload that a later pipe sends to its own response': {
    request: halfUpload,
    workedMs: 540,
    chargedMs: UNSEEN_MS,
    handle: afterWork(({ req, res }) => called((done) => req.on('error', done).pipe(res.once('pipe', done)))),
  },
}

for (const [version, express] of EXPRESS_VERSIONS) {
  describe(`throttle() on ${version} charges what was worked, or a price, where the client goes away, and the signal fires`, () => {
    for (const [name, way] of Object.entries(WAYS))
      it(name, async (t) => {
        const { atOnce, later } = await charged(t, express, way)
        assert.deepEqual([atOnce, later], [way.workedMs, way.chargedMs ?? way.workedMs])
      })
  })
}

const [, express] = EXPRESS_VERSIONS[1] as (typeof EXPRESS_VERSIONS)[number]

describe('throttle({ endsWithClient: true }) charges what was worked until the client went away', () => {
  for (const [name, way] of Object.entries(WAYS))
    it(name, async (t) => {
      const { later, leftAt } = await charged(t, express, way, { endsWithClient: true })
      assert.equal(later, leftAt)
      assert.ok(leftAt === 40 || leftAt === way.workedMs, `${leftAt}`)
    })
})

describe('throttle() on a route whose requests take 1 s charges that in place of a price', () => {
  for (const [name, way] of Object.entries(WAYS))
    it(name, async (t) => {
      const { later } = await charged(t, express, way, { isKnown: true })
      assert.equal(later, way.chargedMs === UNSEEN_MS ? KNOWN_MS : way.workedMs)
    })
})
