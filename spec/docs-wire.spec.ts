import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { Express } from 'express'
import { page } from './support/markdown'
import { serve } from './support/serve'

const root = process.cwd()
const path = 'docs/errors.md'
const home = join(root, '.cache', `docs-wire-${process.pid}`)
after(() => rmSync(home, { recursive: true, force: true }))
const run = promisify(execFile)
const load = createRequire(__filename)

/** `UPDATE_DOCS=1 npm test -- docs-wire` writes the answers into the page instead of comparing them. */
const update = process.env.UPDATE_DOCS === '1'

describe(path, () => {
  const { blocks } = page(root, path)

  it('shows what the app that it shows answers', async () => {
    const api = blocks.find(({ file }) => file === 'api.ts')
    assert.ok(api)
    mkdirSync(home, { recursive: true })
    writeFileSync(join(home, 'api.ts'), api.text)
    const { app, ...tokens } = load(join(home, 'api.ts')) as { app: Express } & Record<string, string>
    const { port } = await serve(app)

    const asked = blocks.filter(({ language, text }) => language === 'sh' && text.startsWith('curl -i '))
    const shown = blocks.filter(({ language }) => language === 'http')
    assert.ok(asked.length >= 12 && shown.length === asked.length, `${asked.length} requests, ${shown.length} answers`)
    const answers: string[] = []
    for (const [i, { text, line }] of asked.entries()) {
      const command = text.replace('localhost:3000', `127.0.0.1:${port}`).replace('curl -i', 'curl -i -s')
      const { stdout } = await run('sh', ['-c', command], { env: { PATH: process.env.PATH, ...tokens } })
      answers.push(tidy(stdout))
      if (!update) assert.equal(shown[i]?.text, answers[i], `${path}:${line}: ${text}`)
    }
    if (!update) return
    const source = readFileSync(join(root, path), 'utf8')
    writeFileSync(
      join(root, path),
      source.replace(/^```http\n[^]*?^```$/gm, () => `\`\`\`http\n${answers.shift()}\`\`\``),
    )
  })
})

/** Without what is HTTP's own, and never twice the same. */
function tidy(answer: string): string {
  const text = answer.replaceAll('\r\n', '\n').replace(/^(Date|Connection|Keep-Alive): .*\n/gm, '')
  return text.endsWith('\n') ? text : `${text}\n`
}
