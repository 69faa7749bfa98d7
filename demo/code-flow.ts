import { createHash, randomBytes } from 'node:crypto'
import type { Request, Response } from 'express'

/** Longest time for a sign-in. */
const SIGN_IN_MS = 600_000

/** Token response: `access_token`, and with the scope `openid` an `id_token`. */
export type Tokens = Readonly<Record<string, unknown>>

/** A way to sign users in for one app: the authorization code flow with PKCE (RFC 6749 §4.1, RFC 7636). */
export interface CodeFlow {
  /** Sends the browser to the authorization server. */
  begin(res: Response): void
  /** The authorization code of the callback, or a text that says what is wrong. */
  codeIn(req: Request, res: Response): { readonly code: string; readonly verifier: string } | string
  /** Redeems the code. */
  redeem(code: string, verifier: string): Promise<{ readonly status: number; readonly tokens: Tokens }>
}

/**
 * @param issuer of the authorization server
 * @param clientId the app's
 * @param redirectUri address of the callback
 */
export function codeFlow(issuer: string, clientId: string, redirectUri: string): CodeFlow {
  const path = new URL(redirectUri).pathname
  return {
    begin(res) {
      const [state, verifier] = [randomBytes(16).toString('hex'), randomBytes(32).toString('base64url')]
      const params = new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        scope: 'openid profile email',
        state,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      })
      // Only the browser that began can finish: its cookie, named after the state, has the verifier.
      res.cookie(`sign-in-${state}`, verifier, { httpOnly: true, sameSite: 'lax', maxAge: SIGN_IN_MS, path })
      res.redirect(`${issuer}/authorization?${params.toString()}`)
    },

    codeIn(req, res) {
      const { state, code, error, error_description: why } = req.query as Record<string, unknown>
      const name = `sign-in-${typeof state === 'string' && /^[\da-f]{32}$/.test(state) ? state : 'none'}`
      const verifier = new RegExp(`(?:^|; )${name}=([\\w-]{43})(?:;|$)`).exec(req.headers.cookie ?? '')?.[1]
      if (verifier === undefined) return 'This sign-in did not begin here.'
      res.clearCookie(name, { path })
      return typeof code === 'string' ? { code, verifier } : `${text(error)}: ${text(why)}`
    },

    async redeem(code, verifier) {
      const form = { grant_type: 'authorization_code', client_id: clientId, code, redirect_uri: redirectUri }
      const body = new URLSearchParams({ ...form, code_verifier: verifier })
      const answer = await fetch(`${issuer}/token`, { method: 'POST', body })
      return { status: answer.status, tokens: (await answer.json()) as Tokens }
    },
  }
}

/** Claims of a token that came directly from the token endpoint, so its signature needs no check. */
export function claimsIn(token: unknown): Readonly<Record<string, unknown>> {
  const payload = text(token).split('.')[1] ?? ''
  return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>
}

/** A string, or an empty string for any other value. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
