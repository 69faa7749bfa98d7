import { type KeyObject, createPrivateKey, createPublicKey } from 'node:crypto'

/*
 * A workaround for Node 20, and nothing else. Delete this file and its calls when package.json's `engines` asks for Node
 * 22 or newer.
 *
 * There a process may stop for ever where it exports a key as JWK, or reads its details. Both lock the key. What generated
 * the key locks it, too, where it is collected meanwhile: in the same thread, which waits for itself. A copy of a key has a
 * lock of its own.
 */

/** True on a Node that has the flaw. */
const NEEDED = Number.parseInt(process.versions.node, 10) < 22

/** A key that can be read safely, whoever has just generated the one given. */
export function ownKey(key: KeyObject): KeyObject {
  if (!NEEDED || key.type === 'secret') return key
  const format = 'der'
  if (key.type === 'private') {
    return createPrivateKey({ key: key.export({ type: 'pkcs8', format }), type: 'pkcs8', format })
  }
  return createPublicKey({ key: key.export({ type: 'spki', format }), type: 'spki', format })
}
