import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Demo, type DemoOptions, demo } from '../app'
import { Visitor } from '../visitor'

export interface RunningDemo extends Demo {
  readonly origin: string
  readonly issuer: string
  /** Gets tokens as the demo itself does for its lines. */
  readonly visitor: Visitor
}

/** The demo on a free port; its apps may want to know which. */
export async function startDemo(
  options: Omit<DemoOptions, 'origin' | 'apps'> & {
    readonly apps?: (origin: string) => NonNullable<DemoOptions['apps']>
  } = {},
): Promise<RunningDemo> {
  const http = createServer().listen(0, '127.0.0.1')
  await once(http, 'listening')
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const { apps, ...others } = options
  const running = demo({ ...others, origin, ...(apps && { apps: apps(origin) }) })
  http.on('request', running.app)
  return {
    ...running,
    origin,
    issuer: `${origin}/cis-web/oauth2/v3`,
    visitor: new Visitor(origin),
    close: async () => {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
      await running.close()
    },
  }
}
