// Two processes and Redis behind a tiny proxy that gives each request to the next of them. PORT (default 3000),
// REDIS_URL (default redis://localhost:6379).
import { fork } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { join } from 'node:path'
import { devIssuer } from 'express-tollgate/testing'

const dev = devIssuer() // stands for your issuer: it serves its keys over HTTP
const served = await dev.serve()
const { options } = served
const env = {
  REDIS_URL: 'redis://localhost:6379',
  ...process.env,
  ISSUER: options.issuer,
  AUDIENCE: options.audience,
  JWKS_URI: options.jwksUri,
}

const children = [1, 2].map(() => fork(join(import.meta.dirname, 'server.mjs'), { env }))
const ports = await Promise.all(children.map(async (child) => (await once(child, 'message'))[0]))

let next = 0
const proxy = http.createServer((req, res) => {
  const port = ports[next++ % ports.length]
  const headers = { ...req.headers, 'x-forwarded-for': req.socket.remoteAddress }
  const onward = http.request({ port, host: '127.0.0.1', method: req.method, path: req.url, headers }, (answer) => {
    res.writeHead(answer.statusCode, answer.rawHeaders)
    answer.pipe(res)
  })
  onward.on('error', () => (res.headersSent ? res.destroy() : res.writeHead(502).end()))
  res.on('close', () => onward.destroy()) // who goes away is gone for the process, too
  req.pipe(onward)
})
proxy.listen(process.env.PORT ?? 3000, () => {
  const { port } = proxy.address()
  console.log(`curl -i localhost:${port}/tree -H 'Authorization: Bearer ${dev.token('ada')}'`)
})

process.once('SIGTERM', () => {
  proxy.close(() => {
    children.forEach((child) => child.kill('SIGTERM'))
    void served.close()
  })
  proxy.closeIdleConnections()
})
