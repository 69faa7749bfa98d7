import { OutgoingMessage, ServerResponse } from 'node:http'

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

const METHODS = ['writeHead', 'write', 'end', 'destroy'] as const

type Methods = Partial<Record<(typeof METHODS)[number], ResponseMethod>>

/** What Node's responses share, whatever prototype an Express app gives them. */
const shared = ServerResponse.prototype as unknown as Methods
const inherited = OutgoingMessage.prototype as unknown as Methods

const hooked = Symbol('tollgate.hooks')
type Hooked = ServerResponse & { [hooked]?: ResponseHooks }

let sharedIsHooked = false

/**
 * Puts hooks on one response. The methods that look for them are Node's own, replaced once in a process, because every
 * Express app gives a response a prototype of its own: methods of one app's prototype are lost in an app called inside
 * it. A response without hooks pays one property lookup a call.
 *
 * Where a middleware has replaced a method already, such as compression, the response gets methods of its own instead:
 * the hooks have to see a call when it is made, not when the middleware passes it on.
 */
export function hookResponse(res: ServerResponse, hooks: ResponseHooks): void {
  if (!sharedIsHooked) hookMethods(shared, false)
  sharedIsHooked = true
  const methods = res as unknown as Methods
  hooks.own = METHODS.some((method) => methods[method] !== shared[method])
  ;(res as Hooked)[hooked] = hooks
  if (hooks.own) hookMethods(methods, true)
}

/** The hooks that are on a response. */
export function hooksOf(res: Hooked): ResponseHooks | undefined {
  const hooks = res[hooked]
  return hooks?.res === res ? hooks : undefined
}

function hookMethods(target: Methods, own: boolean): void {
  for (const method of METHODS) {
    // What is inherited is looked up at each call: somebody else may replace it later.
    const replaced = own || Object.hasOwn(target, method) ? target[method] : undefined
    target[method] = function (this: Hooked, ...args: unknown[]): unknown {
      const original = (replaced ?? inherited[method]) as ResponseMethod
      const hooks = hooksOf(this)
      return hooks?.own !== own ? Reflect.apply(original, this, args) : hooks[method](this, original, args)
    }
  }
}
