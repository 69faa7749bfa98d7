/** Waits until `condition` holds. Says what it waited for where it never does: no machine is slower than `ms`. */
export async function until(condition: () => unknown, ms = 240_000): Promise<void> {
  const end = performance.now() + ms
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${ms} ms: ${condition.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}
