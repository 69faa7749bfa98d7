import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import express, { type Express } from 'express'
import { type DevIssuer, devIssuer } from '../../lib/testing'
import { type Block, page } from '../support/markdown'
import { listen } from '../support/serve'

/** What a sample is, once it runs: its exports, its app on a port, and where the app answers. */
export interface Sample {
  readonly exports: Record<string, unknown>
  readonly app: Express
  readonly url: string
}

export interface SampleOptions {
  /** Mounted before what the sample mounts. */
  readonly before?: (app: Express) => void
  /** Changes the sample's text, such as a timeout of seconds. */
  readonly edit?: (text: string) => string
}

const load = createRequire(__filename)
const home = globalThis as { sampleApp?: Express }

/** The samples of a page: each is found by its heading, and runs as a reader would paste it. */
export function samplesOf(root: string, folder: string, path: string) {
  const blocks = page(root, path).blocks.filter(({ language }) => language === 'ts' || language === 'js')
  const taken = new Set<Block>()
  const there = join(folder, path.replace(/\W+/g, '-'))
  let runs = 0
  mkdirSync(there, { recursive: true })

  /** Writes a block as a file; a block that makes no app of its own is given one. */
  function write({ text, file, line }: Block, edit?: (text: string) => string): string {
    const isGiven = /\bapp\b/.test(text) && !/express\(\)|\bapp:/.test(text)
    let code = (edit?.(text) ?? text).replaceAll('localhost:6379', `127.0.0.1:${process.env.SPEC_REDIS_PORT}`)
    code = code.replaceAll(/listen\(300\d/g, 'listen(0')
    if (isGiven) code = `const app = globalThis.sampleApp\n${code}`
    if (/\bapp\b/.test(text) && !/export const app\b|\bapp:/.test(text)) code += `\nexport { app }\n`
    const source = join(there, !edit && file ? file : `line-${line}-${++runs}.ts`) // one that runs again is loaded again
    writeFileSync(source, code)
    return source
  }

  for (const block of blocks) if (block.file) write(block)
  return {
    /** Another spec runs the `nth` sample under a heading. */
    runsElsewhere: (heading: string, nth = 0): void => {
      taken.add(blocks.filter((each) => each.heading === heading)[nth] as Block)
    },
    /** Runs the `nth` sample under a heading. */
    run: async (heading: string, nth = 0, { before, edit }: SampleOptions = {}): Promise<Sample> => {
      const block = blocks.filter((each) => each.heading === heading)[nth]
      assert.ok(block, `${path} has ${nth + 1} samples under ${heading}`)
      taken.add(block)
      const app = express().disable('x-powered-by').set('tollgate dialect', 'standard')
      home.sampleApp = app
      before?.(app)
      const exports = load(write(block, edit)) as Record<string, unknown>
      const own = (exports.app as Express | undefined) ?? app
      const { url } = await listen(own)
      return { exports, app: own, url }
    },
    /** Samples that mount something and that nobody has run. */
    left: () =>
      blocks
        .filter(({ text }) => /\bapp\.(use|get|post|put|patch|delete|set)\(/.test(text))
        .filter(({ text }) => !/node:test|console\.log\(.*\) \/\/ /.test(text))
        .filter((block) => !taken.has(block))
        .map(({ heading, line }) => `${path}:${line}, ${heading}`),
  }
}

/** Issuers of the docs, which no network knows: their metadata and keys come from issuers of this process. */
export function answerForIssuers(): (issuer: string, audience?: string) => DevIssuer {
  const issuers = new Map<string, DevIssuer>()
  const issuerOf = (issuer: string, audience = 'https://api.example.org') => {
    const known = issuers.get(issuer) ?? devIssuer({ issuer, audience })
    issuers.set(issuer, known)
    return known
  }
  const network = globalThis.fetch
  globalThis.fetch = (to, init) => {
    const { href, pathname } = new URL(to instanceof Request ? to.url : to)
    const issuer = [...issuers.values()].findLast((each) => href.startsWith(each.issuer))
    if (issuer === undefined) return network(to, init)
    const metadata = { issuer: issuer.issuer, jwks_uri: `${issuer.issuer}/keys` }
    const isMetadata = pathname.includes('/.well-known/')
    return Promise.resolve(Response.json(isMetadata ? metadata : issuer.jwks))
  }
  return issuerOf
}
