/** The options of a factory, as its error for an unknown one lists them. */
export function optionNames(make: (options: object) => unknown): readonly string[] {
  try {
    make({ 'no option': 1 })
  } catch (err) {
    return /; it has ([\w, ]+)/.exec(String(err))?.[1]?.split(', ') ?? []
  }
  return []
}
