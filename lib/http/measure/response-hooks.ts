import type { ServerResponse } from 'node:http'
import { noteCopy, sharedSymbol } from '../package-copies'

/** Methods of a response that are replaced. */
interface Methods {
  writeHead: Method<[status: number, ...rest: unknown[]]>
  write: Method<unknown[]>
  end: Method<unknown[]>
  destroy: Method<unknown[]>
}
type Method<Args extends unknown[]> = (this: ServerResponse, ...args: Args) => unknown

/** Hears calls of a response's methods when they are made. */
export interface ResponseHooks {
  /** The hooked response. Copies of it, and objects that inherit from it, have no hooks. */
  readonly res: ServerResponse
  /** Methods that the response had of its own before. An inherited one is looked up at each call: it may be replaced. */
  own: Partial<Methods> | undefined
  /** The header is about to be sent. Calls `original` itself, and returns what that returns. */
  writeHead(res: ServerResponse, original: Methods['writeHead'], args: [status: number, ...rest: unknown[]]): unknown
  /** @param isFlowing what `write()` returned */
  written(res: ServerResponse, isFlowing: unknown): void
  ending(res: ServerResponse): void
  destroying(res: ServerResponse): void
}

const hooked: unique symbol = sharedSymbol('hooks') as never
type Hooked = ServerResponse & { [hooked]?: ResponseHooks }

const NAMES = ['writeHead', 'write', 'end', 'destroy'] as const

let isNoted = false

/**
 * Puts hooks on one response. They stand on the response itself: each Express app sets a prototype of its own, and a
 * method that compression or the like has replaced must be heard when it is called, not when it passes the call on.
 */
export function hookResponse(res: ServerResponse, hooks: ResponseHooks): void {
  if (!isNoted) noteCopy()
  isNoted = true
  const methods = res as unknown as Methods
  for (const name of NAMES) if (Object.hasOwn(methods, name)) hooks.own = { ...hooks.own, [name]: methods[name] }
  ;(res as Hooked)[hooked] = hooks
  methods.writeHead = hookedWriteHead
  methods.write = hookedWrite
  methods.end = hookedEnd
  if (typeof methods.destroy !== 'function') return // what stands in for a response may lack it
  methods.destroy = hookedDestroy
}

/** The hooks that are on a response. */
export function hooksOf(res: Hooked): ResponseHooks | undefined {
  const hooks = res[hooked]
  return hooks?.res === res ? hooks : undefined
}

function originalOf<Name extends keyof Methods>(res: Hooked, name: Name): Methods[Name] {
  const hooks = res[hooked] as ResponseHooks
  return hooks.own?.[name] ?? (Object.getPrototypeOf(hooks.res) as Methods)[name]
}

// Shared by all responses: no closure is made for one.

function hookedWriteHead(this: Hooked, ...args: [status: number, ...rest: unknown[]]): unknown {
  const original = originalOf(this, 'writeHead')
  const hooks = hooksOf(this)
  return hooks === undefined ? Reflect.apply(original, this, args) : hooks.writeHead(this, original, args)
}

function hookedWrite(this: Hooked, ...args: unknown[]): unknown {
  const isFlowing = Reflect.apply(originalOf(this, 'write'), this, args)
  hooksOf(this)?.written(this, isFlowing)
  return isFlowing
}

function hookedEnd(this: Hooked, ...args: unknown[]): unknown {
  hooksOf(this)?.ending(this)
  return Reflect.apply(originalOf(this, 'end'), this, args)
}

function hookedDestroy(this: Hooked, ...args: unknown[]): unknown {
  hooksOf(this)?.destroying(this)
  return Reflect.apply(originalOf(this, 'destroy'), this, args)
}
