import { once } from 'node:events'
import { type RequestListener, type Server, type ServerOptions, createServer } from 'node:http'
import { type AddressInfo, type Socket, connect } from 'node:net'
import { type TestContext, after } from 'node:test'

export interface Listening {
  readonly url: string
  readonly port: number
  readonly server: Server
  /** A GET, with its body read and its throttle fields at hand. */
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Answer>
  /** Sends bytes as they are, since HTTP clients tidy what they send; resolves with all that came back. */
  readonly raw: (request: string | Buffer) => Promise<string>
  readonly close: () => Promise<void>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: string
  /** A field as a number; NaN where it is missing. */
  number(field: string): number
}

/** Serves an app on a free port until the specs of the file, or of the suite or test it is called in, are done. */
export async function serve(app: RequestListener, options: ServerOptions = {}): Promise<Listening> {
  const listening = await listen(app, options)
  after(() => void listening.close())
  return listening
}

/** The same until it is closed: for processes of their own, and where the order of closing matters. */
export async function listen(app: RequestListener, options: ServerOptions = {}): Promise<Listening> {
  const server = createServer(options, app)
  server.keepAliveTimeout = 0 // on a busy machine a client writes to a connection that the server has just closed
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return {
    url,
    port,
    server,
    get: (path, headers) => get(url + path, headers),
    raw: (bytes) => raw(port, bytes),
    close,
  }
}

export async function get(url: string, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(url, { headers })
  const body = await response.text()
  const number = (field: string) => Number(response.headers.get(field) ?? NaN)
  return { status: response.status, headers: response.headers, body, number }
}

/** A client's connection, which is cut when the test ends. `text` is what it has received. */
export async function connected(t: Pick<TestContext, 'after'>, port: number): Promise<Socket & { text: string }> {
  const socket = Object.assign(connect(port, '127.0.0.1'), { text: '' })
  t.after(() => socket.destroy())
  socket.on('error', () => undefined).on('data', (data: Buffer) => (socket.text += data.toString('latin1')))
  await once(socket, 'connect')
  return socket
}

function raw(port: number, request: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1', () => socket.write(request))
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
  })
}
