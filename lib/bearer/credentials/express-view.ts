import type { TLSSocket } from 'node:tls'
import type { Request } from 'express'
import { forwardedHost } from '../../http/request/client-network'
import type { AppRequestView } from './token-sources'

/** View of a request for the check. A class, because an object literal takes 15 µs to make its accessors. */
export class ExpressView implements AppRequestView {
  constructor(readonly request: Request) {}

  get method(): string {
    return this.request.method
  }

  get target(): string {
    return (this.request as Partial<Request>).originalUrl ?? this.request.url // outside Express it has less
  }

  get rawHeaders(): readonly string[] | undefined {
    return this.request.rawHeaders // an adapter's or a test's request may have none
  }

  get headers(): Request['headers'] {
    return this.request.headers
  }

  /** As Express sees it: a trusted proxy says protocol and host. Without a host (HTTP/1.0), no proof is for it. */
  get origin(): string {
    const { headers, protocol, socket } = this.request as Partial<Request> & Pick<Request, 'headers'>
    const host = forwardedHost(this.request) ?? headers.host ?? headers[':authority']
    return host ? `${protocol ?? ((socket as Partial<TLSSocket>).encrypted ? 'https' : 'http')}://${String(host)}` : ''
  }

  get form(): object | undefined {
    const body: unknown = this.request.body
    return typeof body === 'object' && body !== null && isForm(this.request) ? body : undefined
  }
}

function isForm(req: Request): boolean {
  return /^application\/x-www-form-urlencoded *(?:;|$)/i.test(req.headers['content-type'] ?? '')
}
