import { UNKNOWN_NETWORK, blockOf } from '../../http/request/network'
import { hashOf } from '../../http/secret'
import { type KnownClient, isConfidential } from '../directories/client'
import { requestNetwork } from '../request-network'

/** Who causes a record, and loses it where room is scarce. Only the functions of this file make one. */
export type Owner = string & { readonly isOwner: true }

/** Of what must not be forgotten: revocations of users. Nobody loses it. */
export const NOBODY = '' as Owner

/** A stranger: the block of addresses of the current request. */
export function ofStranger(): Owner {
  return blockOf(requestNetwork.getStore() ?? UNKNOWN_NETWORK) as Owner
}

export function ofUser(userId: string): Owner {
  return `user:${hashOf(userId)}` as Owner
}

/** An app of the directory that has proved itself. Anybody can name a public app, and anybody can register one. */
export function ofApp(client: KnownClient): Owner {
  if (client.isUnverified || !isConfidential(client)) return ofStranger()
  return `app:${hashOf(client.clientId)}` as Owner
}
