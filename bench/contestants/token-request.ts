export const CLIENT = 'bench-app'
export const SECRET = 'a-secret-of-the-bench-with-256-bits-of-it-00'
const BODY = 'grant_type=client_credentials'

/** One request of the client credentials grant, with the secret by HTTP Basic. */
export const TOKEN_REQUEST = [
  'POST /token HTTP/1.1',
  'Host: localhost',
  'Accept: application/json',
  'Content-Type: application/x-www-form-urlencoded',
  `Content-Length: ${BODY.length}`,
  `Authorization: Basic ${Buffer.from(`${CLIENT}:${SECRET}`).toString('base64')}`,
  '',
  BODY,
].join('\r\n')
