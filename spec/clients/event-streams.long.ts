import assert from 'node:assert/strict'
import { type TestContext, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { EventSource } from 'eventsource'
import express, { type RequestHandler } from 'express'
import { type ThrottleOptions, throttle } from '../../lib'
import { manualClock } from '../../lib/testing'
import { listen } from '../support/serve'
import { assertIs, atLeast, below, until } from '../support/until'

const MONTH_MS = 2_592_000_000
const LIMIT_MS = 2_000

async function api(t: TestContext, handler: RequestHandler, options: ThrottleOptions = {}) {
  const throttled = throttle({ limitMs: LIMIT_MS, windowMs: MONTH_MS, subject: () => 'ada', ...options })
  const { url, close } = await listen(express().use(throttled, express.json(), handler))
  t.after(close)
  return { url, spentMs: async () => (await throttled.usage('ada'))[0]?.spentMs ?? NaN }
}

describe('throttle() before a server of the official MCP SDK in its default mode', () => {
  const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'work', arguments: {} } }
  const fields = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }

  it('lets two of 20 calls run that take half of the limit, and refuses the others', async (t) => {
    let begun = 0
    const clock = manualClock(Date.UTC(2026, 0, 1))
    const work: RequestHandler = async (req, res) => {
      const server = new McpServer({ name: 'worker', version: '1' })
      server.registerTool('work', {}, async () => {
        begun++
        await sleep(100)
        clock.advance(LIMIT_MS / 2 + 1)
        return { content: [{ type: 'text', text: 'done' }] }
      })
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined } as never)
      await server.connect(transport)
      await transport.handleRequest(req, res, req.body)
    }
    const { url, spentMs } = await api(t, work, { clock })
    const call = () => fetch(url, { method: 'POST', headers: fields, body: JSON.stringify(CALL) })
    const answers = await Promise.all(Array.from({ length: 20 }, call))
    const texts = await Promise.all(answers.map((answer) => answer.text()))
    const served = texts.filter((text) => text.includes('"text":"done"')).length
    assert.equal(answers.find(({ ok }) => ok)?.headers.get('content-type'), 'text/event-stream')
    assert.equal(served, begun)
    assert.equal(begun, 2)
    assert.equal(answers.filter(({ status }) => status === 429).length, 18)
    assertIs(await spentMs(), atLeast(LIMIT_MS))
  })
})

describe('throttle() and an EventSource', () => {
  it('charges the time to the header, however long it is open', async (t) => {
    let openedAt = 0
    let workedMs = 0
    const { url, spentMs } = await api(t, async (_req, res) => {
      openedAt = performance.now()
      await sleep(50)
      res.writeHead(200, { 'Content-Type': 'text/event-stream' })
      workedMs = performance.now() - openedAt
      const timer = setInterval(() => res.write('data: tick\n\n'), 50)
      res.once('close', () => clearInterval(timer))
    })
    const source = new EventSource(url)
    t.after(() => source.close())
    let ticks = 0
    source.onmessage = () => ticks++
    await until(() => ticks, atLeast(Number(process.env.EVENTSOURCE_TICKS ?? 10)))
    const spent = await spentMs()
    t.diagnostic(`open for ${Math.round(performance.now() - openedAt)} ms, ${workedMs} to its header, charged ${spent}`)
    assertIs(spent, atLeast(45), `charged ${spent}`)
    assertIs(spent, below(workedMs + 10 * 50), `charged ${spent}`) // not the ticks
    source.close()
    assert.equal(await spentMs(), spent)
  })
})
