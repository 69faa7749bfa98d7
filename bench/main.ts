// npm run bench [-- --quick | --rounds N] [--node N] [GROUP … | bytes]: measures, prints the tables, and writes them and
// the chart into docs/PERFORMANCE.md: in full on Node 24, in short on any other. With --quick it shows in half a minute
// that all of it works, and like GROUP and bytes (the memory alone) it writes nothing.
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GROUPS, type GroupName } from './groups'
import { COLD_TOKENS, FULL, QUICK, WARMING_TOKENS } from './load-parameters'
import { Bench, type Limits, type Measured, type Row } from './measure'
import { report, writeReport } from './report'

const OPTIONS = ['--quick', '--rounds', 'bytes']

async function main(args: readonly string[]): Promise<void> {
  const quick = args.includes('--quick')
  const all = Object.keys(GROUPS) as GroupName[]
  const unknown = args.find((arg, i) => args[i - 1] !== '--rounds' && ![...all, ...OPTIONS].includes(arg))
  if (unknown !== undefined) {
    throw new RangeError(`there is no ${unknown}; there are ${[...all, ...OPTIONS].join(', ')}`)
  }
  const only = all.filter((name) => args.includes(name))
  const whole = only.length === 0 && !args.includes('bytes')
  const { rounds = FULL.rounds } = roundsOf(args)
  const parameters = quick ? QUICK : { ...FULL, rounds }
  const begun = performance.now()
  const { setup, manyTokens, close } = await issuer(
    quick ? 2 * parameters.tokens : Math.max(COLD_TOKENS, parameters.tokens + WARMING_TOKENS),
  )
  const bench = new Bench(parameters, setup, manyTokens)
  const limits: Limits = { verifyUs: [], signUs: { tokens: [], tokensOnAllCores: [] }, timeUs: [] }
  const measured: Partial<Measured> = {}
  try {
    for (const name of whole ? all : only) {
      console.error(`${GROUPS[name].title} …`)
      Object.assign(measured, { [name]: await rowsOf(bench, name, limits) })
    }
    if (whole || args.includes('bytes')) console.error('Memory …')
    const memory = whole || args.includes('bytes') ? await bench.memory() : undefined
    const minutes = (performance.now() - begun) / 60_000
    const made = report({ measured, limits, memory, parameters, minutes })
    console.log(made.text)
    if (!quick && whole) writeReport(made)
  } finally {
    bench.stop()
    close()
  }
}

/** Fewer rounds, for a look; the report says how many they were. */
function roundsOf(args: readonly string[]): { rounds?: number } {
  const at = args.indexOf('--rounds')
  if (at === -1) return {}
  const rounds = Number(args[at + 1])
  if (Number.isInteger(rounds) && rounds >= 1) return { rounds }
  throw new RangeError(`--rounds must be a whole number from 1; received ${args[at + 1]}`)
}

async function rowsOf(bench: Bench, name: GroupName, limits: Limits): Promise<readonly Row[]> {
  if (name === 'redis') return bench.redis(limits)
  if (name === 'cold') return bench.cold(limits)
  if (name === 'tokens' || name === 'tokensOnAllCores') return bench.tokens(name, limits)
  return bench.group(name)
}

/** A key, tokens signed by it, and where the peers fetch its public half. */
async function issuer(count: number) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'bench', alg: 'RS256', use: 'sig' }
  const server = createServer((_req, res) => {
    res.setHeader('Content-Type', 'application/json')
    res.end(JSON.stringify({ keys: [jwk] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const audience = 'https://api.test'
  const part = (of: object) => Buffer.from(JSON.stringify(of)).toString('base64url')
  const token = (who: number) => {
    const iat = Math.floor(Date.now() / 1_000)
    const exp = iat + 86_400
    const whose = { iss: url, aud: audience, sub: `u${who}`, client_id: 'bench', scope: 'read write' }
    const header = part({ alg: 'RS256', typ: 'at+jwt', kid: 'bench' })
    const data = `${header}.${part({ ...whose, iat, exp, jti: randomUUID() })}`
    return `${data}.${sign('sha256', Buffer.from(data), privateKey).toString('base64url')}`
  }
  return {
    setup: {
      issuer: url,
      audience,
      jwksUri: `${url}/keys`,
      publicPem: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
      privatePem: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
      tokens: [token(0)],
    },
    manyTokens: Array.from({ length: count }, (_, i) => token(i + 1)),
    close: () => void server.close(),
  }
}

// What ends with this process, such as each redis-server, is told by its exit: a signal alone would leave them behind.
process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))
main(process.argv.slice(2)).then(
  () => process.exit(),
  (err: unknown) => {
    console.error(err)
    process.exit(1)
  },
)
