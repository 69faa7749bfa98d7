import { screen } from './screen'
import type { Published } from '../inspect/redis-windows'
import { FIRST_VIEW, type View, afterKey } from './view'

/** The alternate screen without a cursor, and back. */
const ENTER = '\x1b[?1049h\x1b[?25l'
const LEAVE = '\x1b[?25h\x1b[?1049l'
const HOME = '\x1b[H'
/** Before the text: after it a full line would lose its last character. */
const ERASE_LINE = '\x1b[K'

/**
 * Shows the windows that `read` brings in the terminal, every `everyMs`, and obeys its keys, until `q` or Ctrl-C. While
 * Redis does not answer it shows the last figures, how old they are, and why.
 *
 * @throws {Error} where Redis does not answer the first time; the terminal is restored first
 */
export async function watch(read: () => Promise<Published>, everyMs: number): Promise<void> {
  const { stdin, stdout } = process
  let view: View = FIRST_VIEW
  let latest: Published | undefined
  /** When `latest` was read, by `performance.now()`; and why the last look failed. */
  let readAt = 0
  let failure: Error | undefined
  let timer: NodeJS.Timeout | undefined
  let quit: () => void = () => undefined
  const hasQuit = new Promise<'quit'>((resolve) => (quit = () => resolve('quit')))

  const draw = () => {
    if (latest === undefined) return
    const failed = failure && { cause: failure, ageMs: performance.now() - readAt }
    const lines = screen(latest, view, { rows: stdout.rows, columns: stdout.columns }, failed)
    stdout.write(HOME + lines.map((line) => ERASE_LINE + line).join('\r\n'))
  }
  const press = (keys: Buffer) => {
    for (const key of keysIn(keys.toString())) {
      const next = afterKey(view, key)
      if (next === undefined) return quit()
      view = next
    }
    draw()
  }

  stdout.write(ENTER)
  stdout.on('resize', draw)
  if (stdin.isTTY) stdin.setRawMode(true).on('data', press)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, quit)
  try {
    for (;;) {
      const reading = read().catch((err: unknown) => {
        if (latest === undefined) throw err
        return err as Error
      })
      reading.catch(() => undefined) // a quit no longer waits for it
      const outcome = await Promise.race([hasQuit, reading])
      if (outcome === 'quit') return
      failure = outcome instanceof Error ? outcome : undefined
      if (!(outcome instanceof Error)) [latest, readAt] = [outcome, performance.now()]
      draw()
      const pause = new Promise((resolve) => (timer = setTimeout(resolve, everyMs)))
      if ((await Promise.race([hasQuit, pause])) === 'quit') return
    }
  } finally {
    clearTimeout(timer)
    if (stdin.isTTY) stdin.off('data', press).setRawMode(false).pause()
    stdout.off('resize', draw)
    stdout.write(LEAVE)
  }
}

/** Keys that came together, one by one; an arrow or another sequence is a single key. */
function keysIn(text: string): string[] {
  return text.match(/\x1b\[[\d;]*[\x40-\x7e]|\x1bO.|[^]/g) ?? []
}
