import { type ReadStream, createReadStream } from 'node:fs'

/** A file whose disk never delivers: the stream of it is open and reads until it is destroyed. */
export function endlessFile(): ReadStream {
  const open = (_path: unknown, _flags: unknown, _mode: unknown, done: (err: null, fd: number) => void) => done(null, 0)
  const close = (_fd: unknown, done: () => void) => done()
  return createReadStream('endless', { fs: { open, read: () => undefined, close } })
}
