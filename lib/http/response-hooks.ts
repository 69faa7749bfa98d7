import { OutgoingMessage, ServerResponse } from 'node:http'
import { isFirstCopy, sharedSymbol } from './package-copies'

/** A response's method as it was before it was hooked. */
export type ResponseMethod = (this: ServerResponse, ...args: unknown[]) => unknown

/** Called instead of these methods of a response. Each calls `original` itself and returns what the method returns. */
export interface ResponseHooks {
  /** The response that they are on. An object that copies it, or inherits from it, has no hooks. */
  readonly res: ServerResponse
  /** True: methods of the response itself call the hooks. False: those that all responses share do. */
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

/** What Node's responses share, whatever prototype an Express app gives them. */
const shared = ServerResponse.prototype as unknown as Methods
const inherited = OutgoingMessage.prototype as unknown as Required<Methods>

const hooked: unique symbol = sharedSymbol('hooks') as never
type Hooked = ServerResponse & { [hooked]?: ResponseHooks }

let isShared = false

/**
 * Puts hooks on one response. The methods that look for them are Node's own, replaced once in a process by whichever
 * copy of this package comes first, because every Express app gives a response a prototype of its own: methods of one app's prototype are lost in an app called inside
 * it. A response without hooks pays one property lookup a call.
 *
 * Where a middleware has replaced a method already, such as compression, the response gets methods of its own instead:
 * the hooks have to see a call when it is made, not when the middleware passes it on.
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

/** Four functions, not one made four times: V8 would take what it learns of each for all of them. */
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

/** Undefined where the method is inherited: then it is looked up at each call, as somebody may replace it later. */
function replacedIn(target: Methods, method: keyof Methods, own: boolean): ResponseMethod | undefined {
  return own || Object.hasOwn(target, method) ? target[method] : undefined
}
