import { explained } from './help'

const warned = new Set<string>()

/**
 * Emits a process warning once per process for each mistake.
 *
 * @param code stable, for `process.on('warning')`: `TOLLGATE_ORDER`; each has its heading in the documentation
 * @param mistake identifies a mistake, if a code has several
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
