import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Express } from 'express'

export interface Listening {
  readonly url: string
  readonly server: Server
  /** A GET, with its body read and its throttle fields at hand. */
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Answer>
  readonly close: () => Promise<void>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: string
  /** A field as a number; NaN where it is missing. */
  number(field: string): number
}

/** The app on a free port of the loopback interface. */
export async function listen(app: Express): Promise<Listening> {
  const server = await new Promise<Server>((resolve) => {
    const listening = app.listen(0, '127.0.0.1', () => resolve(listening))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    server,
    get: (path, headers = {}) => get(url + path, headers),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export async function get(url: string, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(url, { headers })
  const body = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body,
    number: (field) => Number(response.headers.get(field) ?? NaN),
  }
}
