/** Waits until `condition` holds. Says what it waited for where it never does: no machine is slower than `ms`. */
export async function until(condition: () => unknown, ms = 240_000): Promise<void> {
  const begin = performance.now()
  while (!(await condition())) {
    const waitedMs = performance.now() - begin
    if (waitedMs > ms) throw new Error(`not within ${ms} ms: ${condition.toString()}`)
    // What takes long is looked at less often: most of a look's cost is a request.
    await new Promise((resolve) => setTimeout(resolve, Math.min(Math.max(2, waitedMs / 20), 50)))
  }
}
