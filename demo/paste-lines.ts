import { ISSUER_PATH, SERVICE_SECRET } from './sign-in-server'
import { Visitor } from './visitor'

/** An example command for a shell. */
export interface PasteLine {
  /** What the command demonstrates. */
  readonly shows: string
  /** Uses the variables of {@link shellVariables}, so that it fits on a screen of 80 columns. */
  readonly command: string
}

/** Shell variables of the commands: a fresh token for each kind of session, and addresses. */
export async function shellVariables(origin: string): Promise<Readonly<Record<string, string>>> {
  const visitor = new Visitor(origin)
  const [ADA, PHOTOS, GRACE, VISITOR, SERVICE] = await Promise.all([
    visitor.userToken('ada', 'family-app'),
    visitor.userToken('ada', 'photo-app'),
    visitor.userToken('grace', 'family-app'),
    visitor.unauthenticatedToken(),
    visitor.serviceToken(),
  ])
  return { API: `${origin}/platform`, TOKENS: `${origin}${ISSUER_PATH}/token`, ADA, PHOTOS, GRACE, VISITOR, SERVICE }
}

/** What an answer says of its cost: the head of the list of commands. */
export const FIELDS = `# The fields of an answer:
#   X-PROCESSING-TIME       what this request cost, in milliseconds
#   X-THROTTLE-MILLIS-USED  what the user has used in this window
#   RateLimit: …;t=12       the window ends in 12 s; then the sum starts at 0
# A request that runs over the end of a window costs each window its part.
`

/** Example curl commands, in reading order. */
export function pasteLines(limitMs: number, windowMs: number): PasteLine[] {
  const curl = (path: string, who?: string, flags = '-i') =>
    `curl ${flags} "$API/${path}"${who === undefined ? '' : ` -H "Authorization: Bearer $${who}"`}`
  const tokenFor = (form: string) => `curl -i "$TOKENS" ${form}`

  return [
    { shows: 'is it up? open to all, and not throttled', command: curl('status') },
    { shows: 'without a token: 401', command: curl('users/current') },
    { shows: 'a user, and what is left to her', command: curl('users/current', 'ADA') },
    { shows: 'the same user from a second app: one budget', command: curl('users/current', 'PHOTOS') },
    { shows: 'a person of the tree', command: curl('tree/persons/LWB1-ADA', 'ADA') },
    { shows: 'a slow search: its route has a limit of 9 s in 20 s', command: curl('tree/search?name=king', 'ADA') },
    { shows: 'an unauthenticated session, allowed: 200', command: curl('places?q=london', 'VISITOR') },
    { shows: 'an unauthenticated session, refused: 403', command: curl('tree/persons/LWB1-ADA', 'VISITOR') },
    {
      shows: 'a token for an app with nobody signed in',
      command: tokenFor('-d grant_type=unauthenticated_session \\\n  -d client_id=visitor-app -d ip_address=127.0.0.1'),
    },
    {
      shows: 'a token for a service account, which then pays for itself',
      command: tokenFor(
        `-u nightly-import:${SERVICE_SECRET} \\\n  -d grant_type=client_credentials -d scope=tree.read`,
      ),
    },
    { shows: 'a service account reads the tree', command: curl('tree/persons/LWB2-GGB', 'SERVICE') },
    {
      shows: 'it signs out: 204, and its token is good for nothing more',
      command: curl('logout', 'SERVICE', '-i -X POST'),
    },
    {
      shows: `force the throttle: add ${limitMs + 1} ms to another user's sum`,
      command: curl(`throttled?processingTime=${limitMs + 1}`, 'GRACE'),
    },
    { shows: 'now she is refused: 429 with Retry-After', command: curl('users/current', 'GRACE') },
    {
      shows: `and wait it out: curl waits as long as Retry-After says, up to ${Math.ceil(windowMs / 1_000)} s`,
      command: curl('users/current', 'GRACE', '-i --retry 1'),
    },
  ]
}
