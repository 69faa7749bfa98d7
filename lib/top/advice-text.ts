import type { Advice } from '../advisor/advice'
import { plain } from './screen'

/** Advice of one window as text for a terminal, at most 80 columns wide. */
export function adviceText(advice: Omit<Advice, 'windowMs'>): string {
  const {
    window,
    limitMs: present,
    hours,
    subjectWindows,
    processingMs,
    refusedRequests,
    quantilesMs,
    limits,
    warning,
  } = advice
  const over = hours === 1 ? 'the last hour' : `the last ${hours} hours`
  const { p50, p90, p99, p999, max } = quantilesMs
  const quantiles = { p50, p90, p99, 'p99.9': p999, max }
  const rows = limits.map(({ limitMs, subjectWindows: n, share, timeShare }) =>
    row(
      seconds(limitMs),
      `${percent(share)}  (${count(n)} of ${count(subjectWindows)})`,
      percent(timeShare),
      limitMs === present,
    ),
  )
  return [
    `${plain(window)}, ${over}`,
    `${count(subjectWindows)} windows of users, ${seconds(processingMs)} used, ${count(refusedRequests)} requests refused`,
    '',
    Object.entries(quantiles).map(([name, ms]) => `${name} ${seconds(ms)}`).join('   '), // prettier-ignore
    '',
    row('LIMIT', 'WINDOWS OF USERS REFUSED', 'TIME ABOVE'),
    ...rows,
    ...(warning === undefined ? [] : ['', warning]),
    '',
  ].join('\n')
}

function row(limit: string, share: string, timeShare: string, isPresent = false): string {
  const cells = `${limit.padStart(12)}   ${share.padEnd(36)} ${timeShare.padEnd(10)}`
  return isPresent ? `${cells} present limit` : cells.trimEnd()
}

/**
 * Reads `10s,1.5s,500ms,2m`.
 *
 * @returns milliseconds; undefined where it is no such list
 */
export function limitsIn(text: string): number[] | undefined {
  const limits = text.split(',').map((one) => {
    const [, number, unit] = /^(\d{1,8}(?:\.\d+)?)(ms|s|m)$/.exec(one.trim()) ?? []
    return Math.round(Number(number) * { ms: 1, s: 1_000, m: 60_000 }[(unit ?? 'ms') as 'ms' | 's' | 'm'])
  })
  return limits.every((limit) => limit >= 1 && limit <= MOST_LIMIT_MS) ? limits : undefined
}

/** 32 times the longest window, which is 31 days. */
const MOST_LIMIT_MS = 32 * 31 * 86_400_000
const count = (n: number) => n.toLocaleString('en')
const seconds = (ms: number) => `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`
const percent = (share: number) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 2 : 1)} %`
