// A reporter of node:test that ends the run at the first failure: a mutant is killed then.
export default async function* (events) {
  for await (const { type, data } of events) {
    if (type !== 'test:fail') continue
    console.error(data.name)
    process.exit(1)
  }
}
