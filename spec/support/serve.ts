import { type AddressInfo, connect } from 'node:net'
import { type RequestListener, type ServerOptions, createServer } from 'node:http'
import { after } from 'node:test'

/** Serves an app on a free port until the specs of the file, or of the suite it is called in, are done. */
export async function serve(
  app: RequestListener,
  options: ServerOptions = {},
): Promise<{ url: string; port: number; raw: (request: string | Buffer) => Promise<string> }> {
  const server = createServer(options, app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, raw: (request) => raw(port, request) }
}

/** Sends bytes as they are, since HTTP clients tidy what they send; resolves with all that came back. */
function raw(port: number, request: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1', () => socket.write(request))
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')))
  })
}
