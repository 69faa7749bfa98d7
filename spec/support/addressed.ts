const ADDRESS = / \(express-tollgate\/docs\/troubleshooting\.md#(\w+)\)$/

/** A message as users read it: with the address of the heading that explains its code. */
export function addressed(code: string, message: string): string {
  return `${message} (express-tollgate/docs/troubleshooting.md#${code.toLowerCase()})`
}

/** A message in its two parts. `code` is in lower case, and empty if there is no address. */
export function parted(message: string): { readonly text: string; readonly code: string } {
  const [address = '', code = ''] = ADDRESS.exec(message) ?? []
  return { text: message.slice(0, message.length - address.length), code }
}
