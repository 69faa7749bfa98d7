import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { clientDirectory } from '../../../lib/oauth'
import { type RunningServer, json, post, startServer } from '../support'

/** Client ids and secrets that are hard to write into a Basic field. */
const APPS = [
  ['plain', 'AbC+/x%41y=='],
  ['colon', 'a:b::c'],
  ['percent', '100% & more%zz'],
  ['space', ' a  b '],
  ['umlaut', 'pässwörd'],
  ['emoji', '\u{1F511}key'],
  ['urn:example:app', 'x:y'],
  ['https://app.example.org:8443/meta', 'se+cret'],
  ['a+b', '+'],
  ['a%41', '%'],
  ["(!*'~$&)", "(!*'~$&)"],
] as const

describe('client_secret_basic', () => {
  let running: RunningServer
  before(async () => {
    const apps = APPS.map(([clientId, secret]) => ({ clientId, name: 'App', secret }))
    running = await startServer({
      clients: clientDirectory(apps.map((app) => ({ ...app, grants: ['client_credentials'] }))),
    })
  })
  after(() => running.close())

  const ask = (bytes: Buffer, more = {}) =>
    post(
      `${running.issuer}/token`,
      { grant_type: 'client_credentials', ...more },
      { authorization: `Basic ${bytes.toString('base64')}` },
    )
  const formEncoded = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)

  it('RFC 6749 §2.3.1: client ids and secrets of any characters, form-encoded, percent-encoded or as they are', async () => {
    for (const [clientId, secret] of APPS) {
      for (const encode of [formEncoded, encodeURIComponent, String]) {
        const text = `${encode(clientId)}:${encode(secret)}`
        assert.equal((await ask(Buffer.from(text))).status, 200, text)
        assert.equal((await ask(Buffer.from(text), { client_id: clientId })).status, 200, text)
      }
    }
  })

  it('RFC 7617 §2: a secret in ISO 8859-1, as Python sends it', async () => {
    assert.equal((await ask(Buffer.from('umlaut:pässwörd', 'latin1'))).status, 200)
  })

  it('what is no secret of the client is invalid_client: encoded twice, of another client, with NUL or line breaks', async () => {
    for (const text of [
      `plain:${encodeURIComponent(encodeURIComponent('AbC+/x%41y=='))}`,
      'plain:AbC /xAy==',
      'umlaut:passwort',
      'urn:example:app:y',
      'urn:x:y',
      'colon:a:b::c\0',
      'colon\0:a:b::c',
      'colon\r\n:a:b::c',
      'plain',
      ':AbC+/x%41y==',
      '::::::::',
      `${'a:'.repeat(4_000)}plain`,
    ]) {
      const response = await ask(Buffer.from(text))
      assert.deepEqual([response.status, (await json(response)).error], [401, 'invalid_client'], JSON.stringify(text))
    }
  })
})
