// Debian's python3-authlib and python3-requests-oauthlib: tried where they are installed.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { it } from 'node:test'
import { UserAgent } from '../oauth/user-agent'
import { SECRET, follow, startLoginSystem } from './today'

const PYTHON = process.env.PYTHON3 ?? '/usr/bin/python3'

/** Each prints the URL for the user, reads the URL of the callback, and prints the userinfo response. */
const PROGRAMS: Readonly<Record<string, string>> = {
  authlib: `
from authlib.integrations.requests_client import OAuth2Session
session = OAuth2Session('app', secret, scope=scope, redirect_uri=callback, code_challenge_method='S256')
url, state = session.create_authorization_url(issuer + '/authorization', code_verifier=verifier)
print(url, flush=True)
session.fetch_token(issuer + '/token', authorization_response=input(), code_verifier=verifier)
session.refresh_token(issuer + '/token')
`,
  requests_oauthlib: `
from requests_oauthlib import OAuth2Session
session = OAuth2Session('app', scope=scope, redirect_uri=callback)
url, state = session.authorization_url(issuer + '/authorization', code_challenge=challenge, code_challenge_method='S256')
print(url, flush=True)
session.fetch_token(issuer + '/token', authorization_response=input(), client_secret=secret, code_verifier=verifier)
session.refresh_token(issuer + '/token', auth=('app', secret))
`,
}

const START = `
import base64, hashlib, json, os, sys
os.environ.update(OAUTHLIB_INSECURE_TRANSPORT='1', AUTHLIB_INSECURE_TRANSPORT='1')
issuer, callback, secret, scope = sys.argv[1:]
verifier = 'v' * 64
challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b'=').decode()
`
const END = `
print(json.dumps({'type': session.token['token_type'], 'status': session.get(issuer + '/userinfo').status_code}), flush=True)
`

for (const [library, program] of Object.entries(PROGRAMS)) {
  const isThere = spawnSync(PYTHON, ['-c', `import ${library}`]).status === 0
  if (!isThere) continue

  for (const [scope, status] of [
    ['openid email', 200],
    ['tree.read', 403], // no userinfo without openid
  ] as const) {
    it(`${library} logs a user in and refreshes with tokenType Bearer, scope ${scope}`, async (t) => {
      const system = await startLoginSystem(() => ({ secret: SECRET }))
      t.after(() => system.close())
      const args = ['-c', START + program + END, system.issuer, system.callback, SECRET, scope]
      const child = spawn(PYTHON, args, { stdio: ['pipe', 'pipe', 'inherit'] })
      t.after(() => child.kill())
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
      const { value: url } = (await lines.next()) as { value: string }
      const back = await follow(new UserAgent(system.origin), url, (to) => to.startsWith(system.callback))
      child.stdin.end(`${back as string}\n`)
      const { value: said } = (await lines.next()) as { value: string }
      assert.deepEqual(JSON.parse(said), { type: 'Bearer', status })
    })
  }
}
