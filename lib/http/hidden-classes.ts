import type { IncomingMessage, ServerResponse } from 'node:http'

/*
 * A workaround for V8 before 13 (Node 20 and 22), and nothing else. Delete this file, its one call in meter.ts and its
 * spec when package.json's `engines` asks for Node 24 or newer. No other code may rely on what it does.
 *
 * Express changes the prototype of each request and response. From then on V8 before 13 makes a hidden class of its own
 * for every property that the object takes, so no two requests share one and no inline cache fits. An object that gave
 * up a property other than its last is kept as a dictionary, and dictionaries share a hidden class. Therefore each
 * object gives one property up and takes it back.
 */

/** True on a V8 that has the flaw. */
const NEEDED = Number.parseInt(process.versions.v8, 10) < 13

/** Lets a request and its response share hidden classes with others. Undefined where V8 does so by itself. */
export const shareHiddenClasses = NEEDED ? giveUpBoth : undefined

function giveUpBoth(req: IncomingMessage, res: ServerResponse): void {
  giveUpAndTakeBack(req, 'complete')
  giveUpAndTakeBack(res, 'finished')
}

/** @param property one that Node's constructor sets, with a plain value; an object without it is not Node's own */
function giveUpAndTakeBack<T extends object>(object: T, property: keyof T): void {
  if (!Object.hasOwn(object, property)) return
  const value = object[property]
  if (Reflect.deleteProperty(object, property)) object[property] = value
}
