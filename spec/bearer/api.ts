import express, { type RequestHandler } from 'express'
import { type BearerOptions, requireBearer } from '../../lib'
import { serve } from '../support/serve'

/** An API behind requireBearer(), and what asks it with a token. It answers with the session, unless a handler does. */
export async function apiOf(options: BearerOptions, handler: RequestHandler = (req, res) => void res.json(req.auth)) {
  const bearer = requireBearer(options)
  const { url } = await serve(express().use(bearer, handler))
  const ask = (token: string) => fetch(url, { headers: { authorization: `Bearer ${token}` } })
  return { bearer, url, ask, statusOf: async (token: string) => (await ask(token)).status }
}
