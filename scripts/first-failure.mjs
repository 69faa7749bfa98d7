// A reporter of node:test that ends the run at the first failure, or where nothing has happened for long: a mutant is
// killed then.
const SILENT_MS = 20_000

export default async function* (events) {
  const silent = setTimeout(() => end('hangs'), SILENT_MS)
  for await (const { type, data } of events) {
    silent.refresh()
    if (type === 'test:fail') end(data.name)
  }
  clearTimeout(silent)
}

function end(why) {
  console.error(why)
  process.exit(1)
}
