import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import type * as tollgate from '../lib'
import type * as testing from '../lib/testing'

const dist = join(process.cwd(), 'dist')

describe('the published JavaScript', () => {
  it('is one readable file for each module, at the path that it has in lib/', () => {
    const files = readdirSync(dist, { recursive: true }).map(String)
    const scripts = files.filter((file) => file.endsWith('.js'))
    assert.ok(scripts.includes('throttle/throttle.js') && scripts.length > 100, scripts.join())
    for (const file of scripts) {
      assert.ok(existsSync(join('lib', file.replace(/\.js$/, '.ts'))), file)
      if (basename(file) === 'assets.js') continue // pages and scripts of Lua, as text
      for (const line of readFileSync(join(dist, file), 'utf8').split('\n')) {
        assert.ok(line.length < 250 || line.startsWith('exports.'), `${file} has a line of ${line.length} characters`)
      }
    }
    assert.match(
      readFileSync(join(dist, 'throttle/throttle.js'), 'utf8'),
      /\* Middleware that limits the processing time/,
    )
  })

  it('has middleware that bears the name of its factory', async () => {
    const lib = (await import(join(dist, 'index.js'))) as typeof tollgate
    const { devIssuer } = (await import(join(dist, 'testing/index.js'))) as typeof testing
    const middleware = {
      requireBearer: lib.requireBearer(devIssuer().options),
      allowUnauthenticated: lib.allowUnauthenticated({ paths: ['/places'] }),
      requireScope: lib.requireScope('read'),
      requireAuthentication: lib.requireAuthentication({ maxAgeSec: 60 }),
      throttle: lib.throttle(),
      throttleTest: lib.throttleTest(),
      processingTime: lib.processingTime(),
      serviceUnavailable: lib.serviceUnavailable(),
    }
    for (const [name, handler] of Object.entries(middleware)) assert.equal(handler.name, name)
  })
})
