// One process of an API that is deployed: started by deploy.long.ts behind nginx, ended by the documented lines for SIGTERM.
// It says in each response how long its handler worked, and which version answered.
import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import type * as Tollgate from '../../lib'

export interface DeployedConfig {
  readonly redis: string
  readonly port: number
  readonly limitMs: number
  /** The package of this version: a folder. */
  readonly lib: string
  readonly version: string
  /** What the documentation has for SIGTERM. */
  readonly lines: string
}

const { redis, port, limitMs, lib, version, lines } = JSON.parse(process.argv[2] as string) as DeployedConfig
// eslint-disable-next-line @typescript-eslint/no-require-imports -- of the version that is deployed
const { redisStore, throttle } = require(lib) as typeof Tollgate

const throttled = throttle({
  store: redisStore(redis),
  limitMs,
  windowMs: 2_592_000_000,
  subject: (req) => req.get('x-user') ?? null,
})
const app = express()
app.use(throttled)
app.all('/work/:ms', async (req, res) => {
  const from = performance.now()
  await sleep(Number(req.params.ms))
  res.set({ 'X-Version': version, 'X-Worked': String(performance.now() - from) }).send('done')
})
// eslint-disable-next-line @typescript-eslint/no-implied-eval -- lines of the documentation
const run = new Function('server', 'throttled', lines) as (server: Server, throttled: Tollgate.Throttle) => void
void throttled.ready().then(() => {
  const server = app.listen(port, '127.0.0.1', 2_048, () => process.stdout.write('ready\n'))
  run(server, throttled)
})
