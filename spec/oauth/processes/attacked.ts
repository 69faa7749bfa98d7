// Servers that strangers attack, in a process of their own: with a page of the app's and with the built-in one, and an API
// whose tokens are introspected. GET /load answers with the heap after a collection and the event loop's delay since then.
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import express from 'express'
import { requireBearer } from '../../../lib'
import { authorizationServer, clientDirectory, memoryOAuthStore, userDirectory } from '../../../lib/oauth'
import { CLIENTS, SIGNING_KEY } from '../support'

const { maxBytes } = JSON.parse(process.argv[2] as string) as { readonly maxBytes: number }
setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void
const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()

async function originOf(app: express.Express): Promise<string> {
  // Or a client now and then asks over a connection that is just being closed.
  const http: Server = createServer({ keepAliveTimeout: 0 }, app)
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', 4_096, resolve))
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`
}

/** Documents of strangers: those at slow.test never come. */
async function fetch(url: string, { signal }: { readonly signal: AbortSignal }) {
  await sleep(url.includes('slow.test') ? 60_000 : 20, undefined, { signal })
  const app = { client_id: url, redirect_uris: ['https://good.test/cb'], client_name: 'Good' }
  return { status: 200, headers: { get: () => null }, body: [Buffer.from(JSON.stringify(app))] }
}

const users = userDirectory([{ id: 'KWC6-X7D', username: 'ada', password: 'analytical engine' }], { cost: 12 })

function serverOf(login: { readonly login?: { readonly url: string } }): Promise<string> {
  const app = express().set('trust proxy', 1).set('tollgate dialect', 'standard')
  const server = authorizationServer({
    issuer: 'http://localhost/as',
    ...{ users, clients: clientDirectory(CLIENTS), signingKeys: [{ key: SIGNING_KEY }], ...login },
    ...{ store: memoryOAuthStore({ maxBytes }), registration: { accept: () => ({}), fetch }, log: () => undefined },
  })
  app.use('/as', server)
  app.get('/load', (_req, res) => {
    const answer = { delayMs: Math.round(delay.percentile(99) / 1e6), mostMs: Math.round(delay.max / 1e6) }
    delay.reset()
    gc()
    res.json({ ...answer, heapMb: Math.round(process.memoryUsage().heapUsed / 1e5) / 10 })
  })
  return originOf(app)
}

/** An API whose issuer answers after 250 ms, and knows the tokens that begin with `good`. */
async function apiOf(): Promise<string> {
  const issuer = await originOf(
    express().use(express.urlencoded({ extended: false }), (req, res) => {
      const { token = '' } = req.body as { token?: string }
      const answer = token.startsWith('good') ? { active: true, sub: 'ada', aud: 'api' } : { active: false }
      setTimeout(() => res.json(answer), 250)
    }),
  )
  const api = express().set('trust proxy', 1).set('tollgate dialect', 'standard')
  const introspection = { endpoint: issuer, clientAuth: 'none' } as const
  api.use(requireBearer({ issuer, audience: 'api', introspection, warnings: false }), (_req, res) => void res.end())
  return originOf(api)
}

async function start(): Promise<void> {
  const origins = {
    ownPage: await serverOf({ login: { url: '/sign-in' } }),
    builtIn: await serverOf({}),
    api: await apiOf(),
  }
  const app = express().get('/', (_req, res) => void res.json(origins))
  console.log(new URL(await originOf(app)).port)
}

void start()
