import type { Request, Response } from 'express'
import { newId } from '../../http/secret'
import { foreignForm } from '../oauth-error'
import type { AuthorizationRequest } from '../parameters/authorization-request'
import { NO_CLAIMS } from '../parameters/claims-request'
import { formOf } from '../parameters/form'
import { Params } from '../parameters/params'
import type { Parts, Uses } from '../parts'
import { redirect } from './authorization-response'
import type { Endpoint } from './endpoint'
import { beginInteraction, isOwnForm, sealedForm } from './interaction'
import type { SignInFlow } from './visit'
import { knownUrl } from '../../http/url'

const PATH = '/apps'
/** In place of an app's parameters: the user is on the way to this page. A name that no request can have. */
const PARAMS = { ' page': PATH }

/** The page on which a user sees which apps may act for him, and withdraws that. */
export function appsEndpoint(parts: Parts, flow: SignInFlow): Endpoint {
  const { consents, end, issuer, pages, seal, sessionOf, users } = parts
  return { path: PATH, methods: { GET: show, POST: withdraw }, errors: 'page' }

  async function show(req: Request, res: Response): Promise<void> {
    const session = await sessionOf(req)
    const user = session && (await users.find(session.userId))
    if (!user) {
      const visit = await flow.arrive(Params.of(PARAMS), beginInteraction(parts, { params: PARAMS }), req, res)
      return visit && flow.proceed(visit)
    }
    const form = sealedForm(parts, 'apps', { userId: user.id, id: newId() }, req, res)
    pages.apps(res, { ...form, onward: [], user: user.username, apps: await consents.of(user.id) })
  }

  async function withdraw(req: Request, res: Response): Promise<void> {
    const form = await formOf(req)
    form.refuseRepeated(['request', 'csrf', 'app'])
    const sealed = form.need('request')
    const page = seal.open('apps', sealed) as { readonly userId: string } | undefined
    const session = await sessionOf(req)
    if (!isOwnForm(parts, req, sealed, form.get('csrf')) || session?.userId !== page?.userId) throw foreignForm()
    if (session) await end({ event: 'app withdrawn', userId: session.userId, clientId: form.need('app') })
    redirect(res, issuer + PATH)
  }
}

/** The request of a user on the way to this page, or undefined if the parameters are those of an app. */
export function appsRequest({ issuer }: Uses<'issuer'>, params: Params): AuthorizationRequest | undefined {
  if (params.get(' page') !== PATH) return undefined
  const { host } = knownUrl(issuer)
  const client = { clientId: issuer + PATH, name: host, grants: [], isUnverified: false, approval: 'auto' } as const
  return {
    client,
    redirectUri: issuer + PATH,
    responseMode: 'query',
    responseType: 'none',
    scope: [],
    prompt: new Set(),
    loginHint: '',
    claims: NO_CLAIMS,
  }
}
