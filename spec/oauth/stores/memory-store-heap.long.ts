import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { memoryOAuthStore } from '../../../lib/oauth'
import { assertIs, between } from '../../support/until'

const MAX_BYTES = 20_000_000

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

for (const [what, value] of [
  ['long texts', `\u20ac${'x'.repeat(15_000)}`],
  ['short ones', 'x'],
] as const)
  it(`strangers fill a memoryOAuthStore() with ${what}: the heap grows by about its bound`, async () => {
    const store = memoryOAuthStore({ maxBytes: MAX_BYTES })
    gc()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < 200_000 && i * value.length < 4 * MAX_BYTES; i++)
      await store.set(`interaction:${i}`, Buffer.from(value).toString(), 3_600_000, `198.${i % 200}.0.0/16`)
    gc()
    assertIs(process.memoryUsage().heapUsed - before, between(0.7 * MAX_BYTES, 1.4 * MAX_BYTES))
    assert.equal(await store.get('interaction:0'), undefined)
  })
