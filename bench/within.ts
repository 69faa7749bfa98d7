import type { Server } from 'node:http'
import { Duplex } from 'node:stream'

/**
 * A connection to a server of this process, without a socket: what one end writes the other reads a turn later. With
 * duplexPair() of node:stream it would be at once, and the next request come before the server is done with its answer.
 */
export function connectWithin(server: Server): Duplex {
  const [client, served] = [new End(), new End()]
  client.other = served
  served.other = client
  server.emit('connection', served)
  setImmediate(() => client.emit('connect'))
  return client
}

class End extends Duplex {
  other!: End

  override _read(): void {} // it is pushed what there is

  override _write(chunk: Buffer, _encoding: string, written: () => void): void {
    this._writev([{ chunk }], written)
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], written: () => void): void {
    setImmediate(() => {
      for (const { chunk } of chunks) this.other.push(chunk)
      written()
    })
  }

  override _final(ended: () => void): void {
    setImmediate(() => {
      this.other.push(null)
      ended()
    })
  }
}
