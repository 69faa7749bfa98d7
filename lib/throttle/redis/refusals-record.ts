import type { OverloadMessage } from '../events'
import type { RefusalsMessage, RefusedSubject } from '../refusals'

/** A process's refusals count for this long after the heartbeat that told them. */
const SAID_MS = 3_000

/**
 * The key of a hash with the refusals of each process. It expires when no process reports any. Its name is like that of
 * a window, for a subject that cannot exist, so a scan of all windows finds it.
 */
export function refusalsKey(prefix: string, tag: string): string {
  return `${prefix}w4:{${tag}}:0:refusals`
}

/** As beat.lua takes it, which puts the time before it: a line for each reason and subject. */
export function packRefusals({ reasons, subjects, overload }: RefusalsMessage): string {
  const lines = [
    ...Object.entries(reasons).map(([reason, count]) => `reason ${reason} ${count}`),
    ...subjects.map(({ subject, count, sinceMs, window }) => `subject ${subject} ${count} ${sinceMs} ${window}`),
  ]
  if (overload !== undefined) {
    const { share, delayMs, refusedRequests } = overload
    lines.push(`overload ${share.toFixed(3)} ${Math.round(delayMs)} ${refusedRequests}`)
  }
  return lines.join('\n')
}

/**
 * Refusals that processes report now, by the process's name.
 *
 * @param now the server's time in microseconds since 1970
 * @returns undefined if the key has another form
 */
export function parseRefusals(
  prefix: string,
  key: string,
  fields: Readonly<Record<string, Buffer>>,
  now: number,
): Map<string, RefusalsMessage> | undefined {
  if (!key.startsWith(prefix) || !/^w4:\{\w{1,6}\}:0:refusals$/.test(key.slice(prefix.length))) return undefined
  const found = new Map<string, RefusalsMessage>()
  for (const [process, packed] of Object.entries(fields)) {
    const text = packed.toString()
    const [at = ''] = /^\d+ /.exec(text) ?? []
    if (at !== '' && now / 1_000 - Number(at) < SAID_MS) found.set(process, messageIn(text.slice(at.length)))
  }
  return found
}

/** A line of another form is somebody else's. */
function messageIn(text: string): RefusalsMessage {
  const reasons: Record<string, number> = {}
  const subjects: RefusedSubject[] = []
  let overload: OverloadMessage | undefined
  for (const line of text.split('\n')) {
    const [, reason, refused] = /^reason ([a-z]+) (\d+)$/.exec(line) ?? []
    if (reason !== undefined) reasons[reason] = Number(refused)
    const [, subject, count, sinceMs, window] = /^subject ([\w-]{24}) (\d+) (\d+) (.+)$/.exec(line) ?? []
    if (subject !== undefined && window !== undefined)
      subjects.push({ subject, window, count: Number(count), sinceMs: Number(sinceMs) })
    const [, share, delayMs, shed] = /^overload ([\d.]+) (\d+) (\d+)$/.exec(line) ?? []
    if (share !== undefined)
      overload = { share: Number(share), delayMs: Number(delayMs), refusedRequests: Number(shed) }
  }
  return { reasons, subjects, overload }
}
