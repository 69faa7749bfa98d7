import { ServerResponse } from 'node:http'
import { noteCopy, sharedSymbol } from '../package-copies'

/** Response methods that have hooks. */
interface Methods {
  writeHead: Method<[status: number, ...rest: unknown[]]>
  write: Method<unknown[]>
  end: Method<unknown[]>
  destroy: Method<unknown[]>
}
type Method<Args extends unknown[]> = (this: ServerResponse, ...args: Args) => unknown

/** Callbacks for calls of a response's methods. */
export interface ResponseHooks {
  /** The hooked response. Copies of it, and objects that inherit from it, have no hooks. */
  readonly res: ServerResponse
  /** Methods that are replaced on the response itself, with what it had of its own before. */
  own: Partial<Methods> | undefined
  /** The header is about to be sent. Calls `original` itself, and returns what that returns. */
  writeHead(res: ServerResponse, original: Methods['writeHead'], args: [status: number, ...rest: unknown[]]): unknown
  /** @param isFlowing what `write()` returned */
  written(res: ServerResponse, isFlowing: unknown): void
  ending(res: ServerResponse): void
  destroying(res: ServerResponse): void
}

const NAMES = ['writeHead', 'write', 'end', 'destroy'] as const
const hooked: unique symbol = sharedSymbol('hooks') as never
const heard: unique symbol = sharedSymbol('heard') as never
type Hooked = ServerResponse & { [hooked]?: ResponseHooks }

/** Prototypes of responses, and whether the hooks of Node's own class see calls on their responses. */
const prototypes = new WeakMap<object, boolean>()
let isNoted = false

/**
 * Hears what is called on one response. Node's class is changed once for all responses: to give each response methods of
 * its own takes as long as all the rest of a throttle. A method that compression or the like has replaced on the response,
 * or an app's or a host's own class, must be heard when it is called, not when it passes the call on. There, and for
 * responses that are not Node's, the hook stands on the response itself.
 */
export function hookResponse(res: ServerResponse, hooks: ResponseHooks): void {
  if (!isNoted) noteCopy()
  isNoted = true
  const prototype = Object.getPrototypeOf(res) as object
  let isHeard = prototypes.get(prototype)
  if (isHeard === undefined) prototypes.set(prototype, (isHeard = hearClass(prototype)))
  for (const name of NAMES) if (!isHeard || Object.hasOwn(res, name)) hookOwn(res as unknown as Methods, hooks, name)
  ;(res as Hooked)[hooked] = hooks
}

/** The hooks that are on a response. */
export function hooksOf(res: Hooked): ResponseHooks | undefined {
  const hooks = res[hooked]
  return hooks?.res === res ? hooks : undefined
}

/** Changes Node's class, unless one that inherits from it has such a method of its own. */
function hearClass(prototype: object): boolean {
  const node = ServerResponse.prototype as unknown as Methods & { [heard]?: true }
  for (let at: object | null = prototype; at !== node; at = Object.getPrototypeOf(at) as object | null)
    if (at === null || NAMES.some((name) => Object.hasOwn(at, name))) return false
  if (node[heard]) return true // by another copy of this package, too
  const methods = NAMES.map((name) => [name, methodOf(name, node[name] as Method<unknown[]>)])
  Object.assign(node, Object.fromEntries(methods), { [heard]: true })
  return true
}

/** Also where the hook was there before: `write()` of a response that goes through compression is heard once. */
function methodOf(name: keyof Methods, original: Method<unknown[]>): Method<unknown[]> {
  return function (this: Hooked, ...args) {
    const hooks = hooksOf(this)
    if (hooks === undefined || hooks.own?.[name] !== undefined) return Reflect.apply(original, this, args)
    return call(name, this, hooks, original, args)
  }
}

function call(
  name: keyof Methods,
  res: ServerResponse,
  hooks: ResponseHooks,
  original: Method<unknown[]>,
  args: unknown[],
): unknown {
  if (name === 'writeHead') return hooks.writeHead(res, original, args as Parameters<Methods['writeHead']>)
  if (name === 'end') hooks.ending(res)
  else if (name === 'destroy') hooks.destroying(res)
  const returned = Reflect.apply(original, res, args)
  if (name === 'write') hooks.written(res, returned)
  return returned
}

function hookOwn(methods: Methods, hooks: ResponseHooks, name: keyof Methods): void {
  if (typeof methods[name] !== 'function') return // what stands in for a response may lack destroy()
  if (Object.hasOwn(methods, name)) hooks.own = { ...hooks.own, [name]: methods[name] }
  ;(methods as Record<keyof Methods, unknown>)[name] = OWN[name]
}

// Shared by all responses: no closure is made for one. An inherited method is looked up at each call: it may be replaced.

const OWN = Object.fromEntries(NAMES.map((name) => [name, ownMethodOf(name)])) as unknown as Methods

function ownMethodOf(name: keyof Methods): Method<unknown[]> {
  return function (this: Hooked, ...args) {
    const on = this[hooked] as ResponseHooks
    const original = (on.own?.[name] ?? (Object.getPrototypeOf(on.res) as Methods)[name]) as Method<unknown[]>
    const hooks = hooksOf(this)
    return hooks === undefined ? Reflect.apply(original, this, args) : call(name, this, hooks, original, args)
  }
}
