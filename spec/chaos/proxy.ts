import { type AddressInfo, type Socket, connect, createServer } from 'node:net'
import type { Owner } from './apis'

/** A wire to a server that can be slow, silent or cut. */
export interface Proxy {
  readonly port: number
  /** Holds everything back for so long, in either direction. */
  delay(ms: number): void
  /** What goes in never comes out, and nobody is told: connections stay open, new ones are taken. */
  swallow(): void
  /** Closes every connection, without a word to either side. */
  drop(): void
  /** Closes every connection and refuses new ones. */
  refuse(): Promise<void>
  /** Connections made from now on work; those that were swallowed stay dead. */
  mend(): Promise<void>
}

export async function startProxy(owner: Owner, target: number): Promise<Proxy> {
  const sockets = new Set<Socket>()
  let delayMs = 0
  let swallowing = false
  const server = createServer((near) => {
    const far = connect(target, '127.0.0.1')
    const dead = { is: swallowing }
    joined(near, far, dead)
    joined(far, near, dead)
    near.once('close', () => far.destroy())
    far.once('close', () => {
      if (!dead.is) near.destroy()
    })
  })

  function joined(from: Socket, to: Socket, dead: { is: boolean }): void {
    /** What is held back, in its order: a wire may be slow, but what goes in first comes out first. */
    const held: Buffer[] = []
    const release = () => {
      const data = held.shift()
      if (data && to.writable) to.write(data)
    }
    let freeAt = 0
    sockets.add(from)
    from.setNoDelay(true)
    from.on('error', () => undefined)
    from.on('close', () => sockets.delete(from))
    from.on('data', (data: Buffer) => {
      dead.is ||= swallowing
      if (dead.is) return
      if (delayMs === 0 && held.length === 0) return void to.write(data)
      const now = performance.now()
      freeAt = Math.max(freeAt, now + delayMs)
      held.push(data)
      setTimeout(release, freeAt - now)
    })
  }

  const listen = (port: number) =>
    new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', () => resolve()))
  const drop = () => sockets.forEach((socket) => socket.destroy())
  await listen(0)
  const { port } = server.address() as AddressInfo
  owner.after(() => {
    server.close()
    drop()
  })
  return {
    port,
    delay: (ms) => void (delayMs = ms),
    swallow: () => void (swallowing = true),
    drop,
    refuse: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        drop()
      }),
    async mend() {
      delayMs = 0
      swallowing = false
      if (!server.listening) await listen(port)
    },
  }
}
