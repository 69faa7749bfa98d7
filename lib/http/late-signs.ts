import type { ServerResponse } from 'node:http'

/** What a handler looks at or calls on a response, or on its request, whose client has gone. */
const OF_RESPONSE = ['getHeader', 'setHeader', 'removeHeader', 'headersSent', 'writableEnded', 'closed', 'destroyed']
const OF_REQUEST = ['aborted', 'closed', 'destroyed']

/**
 * Watches a response whose client has gone: whoever touches it, or its request, is still at work. Costs nothing but
 * where a client has gone, since only then accessors stand before these properties.
 *
 * @param touched called each time, before the property is read
 */
export function watchLateSigns(res: ServerResponse, touched: () => void): void {
  watchProperties(res, OF_RESPONSE, touched)
  if (res.req !== undefined) watchProperties(res.req, OF_REQUEST, touched)
}

function watchProperties(object: object, names: readonly string[], touched: () => void): void {
  if (!Object.isExtensible(object)) return
  for (const name of names) watchProperty(object, name, touched)
}

function watchProperty(object: object, name: string, touched: () => void): void {
  const own = Object.getOwnPropertyDescriptor(object, name)
  if (own !== undefined && !('value' in own && own.configurable)) return // an accessor of somebody else's
  let isOwn = own !== undefined
  let value: unknown = own?.value
  Object.defineProperty(object, name, {
    configurable: true,
    enumerable: own?.enumerable ?? false,
    get(this: object): unknown {
      touched()
      return isOwn ? value : Reflect.get(Object.getPrototypeOf(object) as object, name, this)
    },
    set(replacement: unknown) {
      isOwn = true
      value = replacement
    },
  })
}
