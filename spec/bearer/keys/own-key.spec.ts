import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { it } from 'node:test'
import { promisify } from 'node:util'
import { TYPESCRIPT } from '../../support/typescript'

it('a key that was just generated is read while its generator is collected', async () => {
  const args = [...TYPESCRIPT, '--max-semi-space-size=1', join(__dirname, 'fresh-keys.ts')]
  await promisify(execFile)(process.execPath, args, { timeout: 100_000 }) // takes two seconds, or for ever
})
