import { type KeyObject, createPrivateKey, createPublicKey } from 'node:crypto'

/*
 * Workaround for a deadlock in Node 20. Delete this file and its calls when package.json's `engines` needs Node 22 or
 * newer.
 *
 * Exporting a key as JWK, or reading its details, locks the key. If the garbage collector frees the key's generator
 * meanwhile, that locks the key too, in the same thread, which then waits for itself. A copy of the key has its own lock.
 */

/** Whether this Node has the deadlock. */
const NEEDED = Number.parseInt(process.versions.node, 10) < 22

/** Copy of a key that can be read safely, even if the key was just generated. */
export function ownKey(key: KeyObject): KeyObject {
  if (!NEEDED || key.type === 'secret') return key
  const format = 'der'
  if (key.type === 'private') {
    return createPrivateKey({ key: key.export({ type: 'pkcs8', format }), type: 'pkcs8', format })
  }
  return createPublicKey({ key: key.export({ type: 'spki', format }), type: 'spki', format })
}
