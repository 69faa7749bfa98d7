/** Whether a store counts as down only since one answer came late, as on a busy machine: nothing was refused. */
export function missedDeadline(cause: unknown): boolean {
  return /^no (report|heartbeat) was answered in \d+ ms/.test(cause instanceof Error ? cause.message : String(cause))
}
