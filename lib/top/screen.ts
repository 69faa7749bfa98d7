import type { PublishedWindow } from '../throttle/inspect/published-window'

/**
 * The table that a terminal shows.
 *
 * @param rows how many lines there are in all, the one that the cursor rests on included; the subjects that do not fit are counted
 */
export function screen(windows: readonly PublishedWindow[], rows: number): string {
  const spentMs = windows.reduce((sum, window) => sum + window.spentMs, 0)
  const holdMs = windows.reduce((sum, window) => sum + window.holdMs, 0)
  const over = windows.filter(({ overLimitMs }) => overLimitMs !== null).length
  const shown = windows.slice(0, Math.max(1, rows - 5))
  const lines = [
    `${windows.length} open windows, ${over} over the limit, ${seconds(spentMs)} spent, ${seconds(holdMs)} on hold`,
    '',
    line('SUBJECT', 'SPENT', 'OVER LIMIT', 'HOLD', 'RUNNING', 'PROCESSES', 'ENDS IN', 'WINDOW'),
    ...shown.map(rowOf),
  ]
  if (shown.length < windows.length) lines.push(`and ${windows.length - shown.length} more`)
  return `${lines.join('\n')}\n`
}

function rowOf({
  subject,
  spentMs,
  overLimitMs,
  holdMs,
  running,
  processes,
  endsInMs,
  window,
}: PublishedWindow): string {
  const limit = overLimitMs === null ? '-' : seconds(overLimitMs)
  const figures = [seconds(spentMs), limit, seconds(holdMs), `${running}`, `${processes}`, seconds(endsInMs)]
  return line(subject, ...figures, plain(window))
}

function line(subject: string, ...rest: readonly string[]): string {
  const [window, ...figures] = rest.toReversed()
  return [subject.padEnd(24), ...figures.reverse().map((figure) => figure.padStart(10)), ` ${window}`].join(' ')
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`

/** What a terminal would obey, or show as nothing or the wrong way round, is shown as its code point. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`)
}
