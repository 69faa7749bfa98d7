import { generateKeyPairSync } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { redisStore } from 'express-tollgate'
import { type OAuthStore, redisOAuthStore } from 'express-tollgate/oauth'
import { Redis } from 'ioredis'
import type { DemoOptions } from './app'

const SIGNING_KEY = 'tollgate-demo:signing-key'

/** Deadline of Redis at startup. */
const START_MS = 30_000

/** State that the demo's processes share: windows, tokens and the signing key. */
export async function overRedis(url: string): Promise<Omit<DemoOptions, 'origin'> & { close(): Promise<void> }> {
  const tokenStore = redisOAuthStore(url)
  await answered(tokenStore)
  const signingKey = await sharedSigningKey(url)
  return { store: redisStore(url), redis: url, tokenStore, signingKey, close: () => tokenStore.close() }
}

async function answered(store: OAuthStore): Promise<void> {
  const end = performance.now() + START_MS
  for (;;) {
    try {
      return void (await store.get('anything'))
    } catch (err) {
      if (performance.now() > end) throw err
      await sleep(100)
    }
  }
}

/** Shared signing key (PEM), created by the first process. Keep your own keys in a vault, never in Redis. */
async function sharedSigningKey(url: string): Promise<string> {
  const redis = new Redis(url)
  try {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
    const own = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    await redis.set(SIGNING_KEY, own, 'EX', 86_400, 'NX')
    return (await redis.get(SIGNING_KEY)) ?? own
  } finally {
    redis.disconnect()
  }
}
