// npm run picture: docs/dashboard.png, the README's picture: the dashboard while five users load a small API.
// In Debian's chromium (`apt-get install chromium pngquant`, or CHROMIUM=/path/to/it). Takes half a minute.
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

const require = createRequire(import.meta.url)
require('tsx/cjs')
const express = require('express')
const { throttle } = require('../lib')
const { throttleDashboard } = require('../lib/dashboard')

const FILE = join(import.meta.dirname, '../docs/dashboard.png')
/** It goes into the published package. */
const MOST_BYTES = 60_000
const LOAD_MS = 25_000
/** Each user's pause between two requests, in milliseconds, and what they ask for. */
const USERS = {
  ada: [150, '/tree/search'],
  grace: [400, '/tree/search'],
  mary: [150, '/tree/persons/KWC6'],
  joan: [900, '/tree/persons/KWC6'],
  katherine: [2_000, '/tree/search'],
}
const WORK_MS = { '/tree/search': 420, '/tree/persons/:id': 40 }

const app = express()
const throttled = throttle({ limitMs: 8_000, windowMs: 60_000, subject: (req) => `user:${req.get('X-User')}` })
const guard = (_req, _res, next) => next() // nobody else reaches this port for half a minute
app.use('/admin', throttleDashboard(throttled, { guard, names: (subject) => subject }))
app.use(throttled)
for (const [path, ms] of Object.entries(WORK_MS)) {
  app.get(path, (_req, res) => setTimeout(() => res.json({}), ms * (0.7 + Math.random() * 0.6)))
}
const server = app.listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const origin = `http://127.0.0.1:${server.address().port}`

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  chromiumSandbox: false,
  args: ['--disable-quic', '--disable-gpu'],
})
const page = await browser.newPage({ viewport: { width: 1_000, height: 900 }, colorScheme: 'light' })
await page.goto(`${origin}/admin`)
const end = Date.now() + LOAD_MS
await Promise.all(Object.entries(USERS).map(([user, [pauseMs, path]]) => use(user, pauseMs, path)))
await page.screenshot({ path: FILE, clip: { x: 0, y: 0, width: 1_000, height: 664 } })
await browser.close()
server.close()
server.closeAllConnections()
await throttled.close()

// 128 colours: a third of the bytes, and no difference to be seen.
const { error } = spawnSync('pngquant', ['128', '--strip', '--force', '--output', FILE, FILE], { stdio: 'inherit' })
if (error) throw error
const { size } = statSync(FILE)
console.log(`docs/dashboard.png: ${size} bytes of at most ${MOST_BYTES}`)
process.exit(size > MOST_BYTES ? 1 : 0)

async function use(user, pauseMs, path) {
  while (Date.now() < end) {
    await (await fetch(origin + path, { headers: { 'X-User': user } })).arrayBuffer()
    await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random())))
  }
}
