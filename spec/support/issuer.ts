import { type KeyObject } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { sign } from 'jsonwebtoken'
import { serve } from './serve'
import { generateKeys } from './generate-keys'

/** A key pair on P-256 and its JWK. */
export function keyPair(kid: string) {
  const { privateKey, publicKey } = generateKeys('ec')
  return { kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' } }
}

/** An issuer on a port of its own, whose answers a spec may change as it goes. */
export async function serveIssuer(first: { kid: string; privateKey: KeyObject; jwk: object }) {
  const state = {
    keys: [first.jwk] as object[],
    down: false,
    /** Answers a request in place of the issuer, where it returns true. */
    instead: (() => false) as (...args: Parameters<RequestListener>) => boolean,
    /** More of its metadata. */
    metadata: {},
    headers: {} as Record<string, string>,
    fetches: [] as string[],
  }
  let issuer = ''
  const { url } = await serve((req, res) => {
    state.fetches.push(req.url as string)
    res.sendDate = false // specs go by clocks of their own
    if (state.instead(req, res)) return
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/keys`, ...state.metadata },
      '/keys': { keys: state.keys },
    }
    const body = documents[req.url as string]
    res.writeHead(state.down ? 503 : body ? 200 : 404, state.headers).end(JSON.stringify(body))
  })
  issuer = url
  const claimed = (claims: object) => ({ iss: issuer, aud: 'api', sub: 'ada', exp: 4_102_444_800, ...claims })
  const token = ({ kid, privateKey } = first, claims: object = {}) => {
    return sign(claimed(claims), privateKey, { algorithm: 'ES256', keyid: kid })
  }
  const typed = (typ: string) => {
    return sign(claimed({}), first.privateKey, { algorithm: 'ES256', header: { alg: 'ES256', typ, kid: first.kid } })
  }
  return { state, issuer, token, typed }
}
