const FOR_EVER_MS = 2 ** 31 - 1

/** Keeps the process alive until the promise settles, because a store's connection does not. */
export async function stayAlive<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => undefined, FOR_EVER_MS)
  try {
    return await work
  } finally {
    clearInterval(timer)
  }
}
