// A process of its own that asks one server for a slice of time, over sockets. With the argument `awake` it does not sleep
// while it loads: the system charges the server that writes an answer with waking the process that waits for it.
import { connect } from 'node:net'
import { type Load, generate } from './load'

const isAwake = process.argv.includes('awake')

process.on('message', (load: Load) => {
  generate(load, () => connect({ port: load.port, host: '127.0.0.1', noDelay: true }), isAwake).then(
    (loaded) => process.send?.(loaded),
    (err: unknown) => process.send?.({ error: String(err) }),
  )
})
process.on('disconnect', () => process.exit())
