const warned = new Set<string>()

/**
 * Emits a process warning the first time that this process meets a mistake, and nothing each time after.
 *
 * @param code stable, for `process.on('warning')`: `TOLLGATE_ORDER`; each has its heading in the documentation
 */
export function warnOnce(code: string, message: string): void {
  if (warned.has(code)) return
  warned.add(code)
  process.emitWarning(message, { code })
}
