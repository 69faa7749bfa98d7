// A process that stands between a server and its Redis and makes the way longer: node slow-way.js PORT MS. A timer of
// Node is true to a millisecond at best, so while something is on its way the process looks at the clock all the time.
import { type AddressInfo, connect, createServer } from 'node:net'

const [port, delayMs] = process.argv.slice(2).map(Number) as [number, number]
const onTheWay: { readonly at: number; readonly arrive: () => void }[] = []

const server = createServer({ noDelay: true }, (near) => {
  const far = connect({ port, host: '127.0.0.1', noDelay: true })
  near.on('data', (bytes) => {
    onTheWay.push({ at: performance.now() + delayMs, arrive: () => void (far.writable && far.write(bytes)) })
    if (onTheWay.length === 1) setImmediate(watch)
  })
  far.pipe(near)
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    one.on('error', () => other.destroy())
    one.on('close', () => other.destroy())
  }
})
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('disconnect', () => process.exit())

function watch(): void {
  const now = performance.now()
  while (onTheWay[0] && onTheWay[0].at <= now) onTheWay.shift()?.arrive()
  if (onTheWay.length > 0) setImmediate(watch)
}
