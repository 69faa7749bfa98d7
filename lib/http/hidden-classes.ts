import type { IncomingMessage, ServerResponse } from 'node:http'

/** Node 20 and 22; from Node 24 on it is mended. */
const EACH_ITS_OWN = Number.parseInt(process.versions.v8, 10) < 13

/**
 * Has a request and its response share their shapes with others again. V8 before 13 makes a new one for every property
 * that an object takes after its prototype was changed, as Express changes both, and what was compiled for one request
 * fits no other: that is a third of all the time of a small one. An object that gave a property up is a dictionary, and
 * dictionaries share a shape. So each gives one up, and has it back.
 */
export function shareShape(req: IncomingMessage, res: ServerResponse): void {
  if (!EACH_ITS_OWN) return
  toDictionary(req, 'complete')
  toDictionary(res, 'finished')
}

/** @param property one that Node sets in the constructor: only what is not the last one added makes a dictionary */
function toDictionary<T extends object>(object: T, property: keyof T): void {
  if (!Object.hasOwn(object, property)) return // no object of Node's
  const value = object[property]
  if (Reflect.deleteProperty(object, property)) object[property] = value
}
