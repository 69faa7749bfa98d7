import { explained } from './help'

const warned = new Set<string>()

/**
 * Emits a process warning the first time that this process meets a mistake, and nothing each time after.
 *
 * @param code stable, for `process.on('warning')`: `TOLLGATE_ORDER`; each has its heading in the documentation
 * @param mistake tells the mistakes of one code apart
 */
export function warnOnce(code: string, message: string, mistake = code): void {
  if (warned.has(mistake)) return
  warned.add(mistake)
  warn(code, message)
}

/** Emits a process warning that ends with the address of the heading that explains its code. */
export function warn(code: string, message: string): void {
  process.emitWarning(explained(code, message), { code })
}
