import type { OverloadMessage } from '../events'

/** Each heartbeat of a process that sheds load says so for this long. */
const SAID_MS = 3_000

/**
 * The key of what processes say while they shed load, a hash that expires with the overload. It is like a window's, but
 * for a subject that no hash has: whoever reads all windows finds it on the way.
 */
export function overloadKey(prefix: string, tag: string): string {
  return `${prefix}w4:{${tag}}:0:overload`
}

/** As beat.lua takes it, which puts the time before it. */
export function packOverload({ share, delayMs, refusedRequests }: OverloadMessage): string {
  return `${share.toFixed(3)} ${Math.round(delayMs)} ${refusedRequests}`
}

/**
 * What processes say that shed load now, by their names.
 *
 * @param now the server's time in microseconds since 1970
 * @returns undefined for what is no such hash
 */
export function parseOverload(
  prefix: string,
  key: string,
  fields: Readonly<Record<string, Buffer>>,
  now: number,
): Map<string, OverloadMessage> | undefined {
  if (!key.startsWith(prefix) || !/^w4:\{\w{1,6}\}:0:overload$/.test(key.slice(prefix.length))) return undefined
  const found = new Map<string, OverloadMessage>()
  for (const [process, text] of Object.entries(fields)) {
    const [, at, share, delayMs, refused] = (/^(\d+) ([\d.]+) (\d+) (\d+)$/.exec(text.toString()) ?? []).map(Number)
    if (at === undefined || share === undefined || delayMs === undefined || refused === undefined) continue
    if (now / 1_000 - at < SAID_MS) found.set(process, { share, delayMs, refusedRequests: refused })
  }
  return found
}
