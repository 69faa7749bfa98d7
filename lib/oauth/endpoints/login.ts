import type { Request, Response } from 'express'
import { clientNetwork } from '../../http/client-network'
import type { ServerContext } from '../server-context'
import { DirectoryBusyError } from '../directories/directory-busy-error'
import { type User, foldedUsername } from '../directories/user'
import { publish } from '../diagnostics'
import { OAuthError } from '../oauth-error'
import { redirectError } from './authorization-response'
import type { Endpoint } from './endpoint'
import { type Interaction, PAGE_LIFETIME_MS, beginInteraction, showLogin, withStep } from './interaction'
import { deviceCookie, knownDevice } from './known-device'
import { withPageForm } from './page-form'
import { continueAuthorization } from './continue-authorization'

/** Receives the login page's form. */
export const loginEndpoint: Endpoint = { path: '/login', methods: { POST: login }, errors: 'page' }

const LONGEST_USERNAME = 256
/** How long a submitted page may be submitted again, after a double click or a store failure. */
const AGAIN_MS = 30_000

async function login(ctx: ServerContext, req: Request, res: Response): Promise<void> {
  await withPageForm(ctx, req, res, ['username', 'password'], async (interaction, form) => {
    const { request } = interaction
    if (form.get('action') === 'cancel') {
      return redirectError(ctx, req, res, request, new OAuthError('access_denied', 'The user did not sign in.'))
    }
    const [username, password] = [form.get('username') ?? '', form.get('password') ?? '']
    const isText = username.length <= LONGEST_USERNAME && !/\p{Cc}/u.test(username) && !password.includes('\0')
    const account = await accountOf(ctx, isText ? username : '')
    const device = knownDevice(ctx, req, account)
    const source = { account: account.name, network: clientNetwork(req), deviceId: device }
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
      user = isText ? await ctx.users.authenticate(username, password) : undefined
    } catch (err) {
      await ctx.attempts.takeBack(source) // the password was not checked
      if (!(err instanceof DirectoryBusyError)) throw err
      res.setHeader('Retry-After', err.retryAfterSec)
      return showLogin(ctx, interaction, req, res, { status: 503, notice: 'tooManyLogins', username })
    }
    publish('login', { clientId, outcome: user ? 'succeeded' : 'failed', userId: user?.id })
    if (!user) return showLogin(ctx, interaction, req, res, { status: 403, notice: 'wrongPassword', username })
    await ctx.attempts.takeBack(source)
    const userMark = account.userId === user.id ? account.userMark : await ctx.revocations.markOf(user.id)
    res.append('Set-Cookie', deviceCookie(ctx, account, device))
    await startSession(ctx, withStep(interaction, user.id, { login: true }), user.id, userMark, req, res)
  })
}

/** An account, for counting login attempts. */
export interface Account {
  /** The same for every spelling and alias that finds it. */
  readonly name: string
  readonly userId?: string
  /** Read before the password is checked: a revocation in between ends this login, too. */
  readonly userMark?: string
}

async function accountOf(ctx: ServerContext, username: string): Promise<Account> {
  const userId = username === '' ? undefined : await ctx.users.findAccount?.(username)
  if (userId === undefined) return { name: `name ${foldedUsername(username)}` }
  const userMark = await ctx.revocations.markOf(userId)
  return { name: `id ${userId}`, userId, ...(userMark !== undefined && { userMark }) }
}

/**
 * Starts the session. A page allows one login. A later repeat, such as from the browser's history, shows the login page
 * again.
 */
async function startSession(
  ctx: ServerContext,
  interaction: Interaction,
  userId: string,
  userMark: string | undefined,
  req: Request,
  res: Response,
): Promise<void> {
  const { total, endsInMs } = await ctx.records.count('login', interaction.id, 1, 2 * PAGE_LIFETIME_MS)
  if (total > 1 && 2 * PAGE_LIFETIME_MS - endsInMs > AGAIN_MS) {
    const afresh = beginInteraction(ctx, interaction, interaction.request)
    return showLogin(ctx, afresh, req, res, { status: 400, notice: 'pageExpired' })
  }
  const before = await ctx.sessions.find(ctx.cookies.read(req.headers.cookie, 'session'))
  const { cookie, session } = await ctx.sessions.start(userId, userMark, before)
  res.append('Set-Cookie', ctx.cookies.write('session', cookie))
  await continueAuthorization(ctx, interaction, session, req, res)
}
