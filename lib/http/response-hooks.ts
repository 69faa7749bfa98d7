import { OutgoingMessage, ServerResponse } from 'node:http'
import { isFirstCopy, sharedSymbol } from './package-copies'

/** A response's original method. */
export type ResponseMethod = (this: ServerResponse, ...args: unknown[]) => unknown

/** Called instead of these methods of a response. Each calls `original` itself and returns what the method returns. */
export interface ResponseHooks {
  /** The hooked response. Copies of it, and objects that inherit from it, have no hooks. */
  readonly res: ServerResponse
  /** Whether the response's own methods call the hooks; else the methods that all responses share. */
  own: boolean
  writeHead(res: ServerResponse, original: ResponseMethod, args: unknown[]): unknown
  write(res: ServerResponse, original: ResponseMethod, args: unknown[]): unknown
  end(res: ServerResponse, original: ResponseMethod, args: unknown[]): unknown
  destroy(res: ServerResponse, original: ResponseMethod, args: unknown[]): unknown
}

interface Methods {
  writeHead?: ResponseMethod
  write?: ResponseMethod
  end?: ResponseMethod
  destroy?: ResponseMethod
}

/** Prototype of Node's responses. Each Express app puts a prototype of its own in front of it. */
const shared = ServerResponse.prototype as unknown as Methods
const inherited = OutgoingMessage.prototype as unknown as Required<Methods>

const hooked: unique symbol = sharedSymbol('hooks') as never
type Hooked = ServerResponse & { [hooked]?: ResponseHooks }

let isShared = false

/**
 * Puts hooks on one response. The first copy of this package in a process replaces Node's own methods, which look for
 * hooks. Methods on an Express app's prototype would be lost in an inner app, because each app sets a prototype of its
 * own. A response without hooks pays one property lookup per call.
 *
 * If a middleware such as compression has already replaced a method, the response gets methods of its own: hooks must
 * see a call when it is made, not when the middleware passes it on.
 */
export function hookResponse(res: ServerResponse, hooks: ResponseHooks): void {
  if (!isShared && isFirstCopy(shared)) hookMethods(shared, false)
  isShared = true
  const methods = res as unknown as Methods
  hooks.own = !isAsShared(methods)
  ;(res as Hooked)[hooked] = hooks
  if (hooks.own) hookMethods(methods, true)
}

function isAsShared({ writeHead, write, end, destroy }: Methods): boolean {
  return writeHead === shared.writeHead && write === shared.write && end === shared.end && destroy === shared.destroy
}

/** The hooks that are on a response. */
export function hooksOf(res: Hooked): ResponseHooks | undefined {
  const hooks = res[hooked]
  return hooks?.res === res ? hooks : undefined
}

/** Four separate functions: V8 would merge the type feedback of one function created four times. */
function hookMethods(target: Methods, own: boolean): void {
  const writeHead = replacedIn(target, 'writeHead', own)
  target.writeHead = function (this: Hooked, ...args: unknown[]): unknown {
    const original = writeHead ?? inherited.writeHead
    const hooks = hooksOf(this)
    return hooks?.own === own ? hooks.writeHead(this, original, args) : Reflect.apply(original, this, args)
  }
  const write = replacedIn(target, 'write', own)
  target.write = function (this: Hooked, ...args: unknown[]): unknown {
    const original = write ?? inherited.write
    const hooks = hooksOf(this)
    return hooks?.own === own ? hooks.write(this, original, args) : Reflect.apply(original, this, args)
  }
  const end = replacedIn(target, 'end', own)
  target.end = function (this: Hooked, ...args: unknown[]): unknown {
    const original = end ?? inherited.end
    const hooks = hooksOf(this)
    return hooks?.own === own ? hooks.end(this, original, args) : Reflect.apply(original, this, args)
  }
  const destroy = replacedIn(target, 'destroy', own)
  target.destroy = function (this: Hooked, ...args: unknown[]): unknown {
    const original = destroy ?? inherited.destroy
    const hooks = hooksOf(this)
    return hooks?.own === own ? hooks.destroy(this, original, args) : Reflect.apply(original, this, args)
  }
}

/** Undefined if the method is inherited: it is looked up at each call, because somebody may replace it later. */
function replacedIn(target: Methods, method: keyof Methods, own: boolean): ResponseMethod | undefined {
  return own || Object.hasOwn(target, method) ? target[method] : undefined
}
