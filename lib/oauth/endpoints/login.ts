import type { Request, Response } from 'express'
import type { ServerContext } from '../server-context'
import { DirectoryBusyError } from '../directories/directory-busy-error'
import type { User } from '../directories/user'
import { publish } from '../diagnostics'
import { OAuthError } from '../oauth-error'
import type { Params } from '../parameters/params'
import { redirectError } from './authorization-response'
import type { Endpoint } from './endpoint'
import { type Interaction, PAGE_LIFETIME_MS, beginInteraction, openInteraction, showLogin } from './interaction'
import { deviceCookie, knownDevice } from './known-device'
import { withPageForm } from './page-form'
import { continueAuthorization } from './continue-authorization'

/** Receives the login page's form. */
export const loginEndpoint: Endpoint = { path: '/login', methods: { POST: login }, errors: 'page' }

const LONGEST_USERNAME = 256

async function login(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  await withPageForm(ctx, req, res, ['username', 'password'], async (interaction, form) => {
    const { request } = interaction
    if (form.get('action') === 'cancel') {
      return redirectError(ctx, res, request, new OAuthError('access_denied', 'The user did not sign in.'))
    }
    const username = (form.get('username') ?? '').slice(0, LONGEST_USERNAME)
    const source = { username, ip: req.ip ?? '', deviceId: knownDevice(ctx, req, username) }
    const waitMs = await ctx.attempts.begin(source)
    const clientId = request.client.clientId
    if (waitMs > 0) {
      publish('login', { clientId, outcome: 'locked', userId: undefined })
      res.setHeader('Retry-After', Math.ceil(waitMs / 1_000))
      const minutes = Math.ceil(waitMs / 60_000)
      return showLogin(ctx, interaction, req, res, { status: 429, notice: 'tooManyAttempts', username, minutes })
    }
    let user: User | undefined
    try {
      user = await ctx.users.authenticate(username, form.get('password') ?? '')
    } catch (err) {
      if (!(err instanceof DirectoryBusyError)) throw err
      await ctx.attempts.takeBack(source)
      res.setHeader('Retry-After', err.retryAfterSec)
      return showLogin(ctx, interaction, req, res, { status: 503, notice: 'tooManyLogins', username })
    }
    publish('login', { clientId, outcome: user ? 'succeeded' : 'failed', userId: user?.id })
    if (!user) return showLogin(ctx, interaction, req, res, { status: 403, notice: 'wrongPassword', username })
    await ctx.attempts.takeBack(source)
    res.append('Set-Cookie', deviceCookie(ctx, username))
    await startSession(ctx, interaction, user.id, form, req, res)
  })
}

/** Starts the session. Each page allows one login: submitting it again from the browser's history asks for the password. */
async function startSession(
  ctx: ServerContext,
  interaction: Interaction,
  userId: string,
  form: Params,
  req: Request,
  res: Response,
): Promise<void> {
  const { total } = await ctx.records.count('login', interaction.id, 1, 2 * PAGE_LIFETIME_MS)
  if (total > 1) {
    const opened = openInteraction(ctx, form.need('request'))
    const afresh = beginInteraction(ctx, opened ?? { params: {}, pushedId: undefined }, interaction.request)
    return showLogin(ctx, afresh, req, res, { status: 400, notice: 'pageExpired' })
  }
  const before = await ctx.sessions.find(ctx.cookies.read(req.headers.cookie, 'session'))
  if (before) await ctx.sessions.end(before.sid)
  const { cookie, session } = await ctx.sessions.start(userId)
  res.append('Set-Cookie', ctx.cookies.write('session', cookie))
  await continueAuthorization(ctx, interaction, session, req, res)
}
