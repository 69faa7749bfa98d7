import type { ServerResponse } from 'node:http'
import type { Application } from 'express'
import { rootApp } from './root-app'

/** A method of a response as it was before it was hooked. */
export type Original = (this: ServerResponse, ...args: unknown[]) => unknown

/** Who comes between a response and the calls of these methods. Each does the original's work, or lets it be done. */
export interface ResponseHooks {
  /** The response they are on: what copies it has what is on it, too. */
  readonly res: ServerResponse
  /** The response has methods of its own that call the hooks; else those that all of its app's responses share do. */
  own: boolean
  writeHead(res: ServerResponse, original: Original, args: unknown[]): unknown
  write(res: ServerResponse, original: Original, args: unknown[]): unknown
  end(res: ServerResponse, original: Original, args: unknown[]): unknown
  destroy(res: ServerResponse, original: Original, args: unknown[]): unknown
}

const METHODS = ['writeHead', 'write', 'end', 'destroy'] as const

type Methods = Record<(typeof METHODS)[number], Original>

const hooked = Symbol('tollgate.hooks')
type Hooked = ServerResponse & { [hooked]?: ResponseHooks }

const hookedApps = new WeakSet()

/**
 * Puts hooks on one response. Express gives every response the app's own prototype, so the methods are put there, once,
 * and look for the response's hooks. Where a middleware has wrapped a method of this response already, its hooks go
 * round that instead, since they want to see the call when it is made.
 */
export function hook(res: ServerResponse, hooks: ResponseHooks): void {
  const shared = METHODS.some((method) => Object.hasOwn(res, method)) ? undefined : responseOfApp(res)
  hooks.own = shared === undefined
  ;(res as Hooked)[hooked] = hooks
  if (shared === undefined) return wrap(res as unknown as Methods, true)
  if (hookedApps.has(shared)) return
  hookedApps.add(shared)
  wrap(shared, false)
}

/** The hooks that are on a response. */
export function hooksOf(res: Hooked): ResponseHooks | undefined {
  const hooks = res[hooked]
  return hooks?.res === res ? hooks : undefined
}

/** What all responses of an app inherit from, also those of apps mounted in it. */
function responseOfApp(res: ServerResponse): Methods | undefined {
  const { app } = res as { app?: Application }
  const shared = app && (rootApp(app) as unknown as { response?: Methods }).response
  return shared !== undefined && Object.prototype.isPrototypeOf.call(shared, res) ? shared : undefined
}

function wrap(target: Methods, own: boolean): void {
  for (const method of METHODS) {
    const original = target[method]
    target[method] = function (this: Hooked, ...args: unknown[]): unknown {
      const hooks = hooksOf(this)
      return hooks?.own !== own ? Reflect.apply(original, this, args) : hooks[method](this, original, args)
    }
  }
}
