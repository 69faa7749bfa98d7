import { ISSUER_PATH, SERVICE_SECRET } from './sign-in-server'
import { Visitor } from './visitor'

/** Something worth trying, ready to paste into a shell. */
export interface PasteLine {
  /** What it shows. */
  readonly shows: string
  readonly command: string
}

/** A curl line with a fresh token for each thing worth trying, in an order that makes sense from top to bottom. */
export async function pasteLines(url: string, limitMs: number, windowMs: number): Promise<PasteLine[]> {
  const visitor = new Visitor(url)
  const [user, secondApp, throttled, nobody, service] = await Promise.all([
    visitor.userToken('ada', 'family-app'),
    visitor.userToken('ada', 'photo-app'),
    visitor.userToken('grace', 'family-app'),
    visitor.unauthenticatedToken(),
    visitor.serviceToken(),
  ])
  const curl = (path: string, token?: string, flags = '-i') =>
    `curl ${flags} '${url}/platform/${path}'${token === undefined ? '' : ` -H 'Authorization: Bearer ${token}'`}`
  const tokenFor = (form: string) => `curl -i '${url}${ISSUER_PATH}/token' ${form}`

  return [
    { shows: 'is it up? open to all, and not throttled', command: curl('status') },
    { shows: 'without a token: 401', command: curl('users/current') },
    { shows: 'a user, and what is left to her', command: curl('users/current', user) },
    { shows: 'the same user from a second app: one budget', command: curl('users/current', secondApp) },
    { shows: 'a person of the tree', command: curl('tree/persons/LWB1-ADA', user) },
    { shows: 'a slow search, with a window of its own: 5 s in 10 s', command: curl('tree/search?name=king', user) },
    { shows: 'an unauthenticated session, allowed: 200', command: curl('places?q=london', nobody) },
    { shows: 'an unauthenticated session, refused: 403', command: curl('tree/persons/LWB1-ADA', nobody) },
    {
      shows: 'a token for an app with nobody signed in',
      command: tokenFor('-d grant_type=unauthenticated_session -d client_id=visitor-app -d ip_address=127.0.0.1'),
    },
    {
      shows: 'a token for a service account, which then pays for itself',
      command: tokenFor(`-u nightly-import:${SERVICE_SECRET} -d grant_type=client_credentials`),
    },
    { shows: 'a service account reads the tree', command: curl('tree/persons/LWB2-GGB', service) },
    {
      shows: 'it signs out: 204, and its token is good for nothing more',
      command: `${curl('logout', service)} -X POST`,
    },
    {
      shows: `force the throttle: add ${limitMs + 1} ms to another user's sum`,
      command: curl(`throttled?processingTime=${limitMs + 1}`, throttled),
    },
    { shows: 'now she is refused: 429 with Retry-After', command: curl('users/current', throttled) },
    {
      shows: `and wait it out: curl waits as long as Retry-After says, here up to ${Math.ceil(windowMs / 1_000)} s`,
      command: curl('users/current', throttled, '-i --retry 1'),
    },
  ]
}
