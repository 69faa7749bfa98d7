import assert from 'node:assert/strict'

const HELP_LINK = / \(express-tollgate\/docs\/troubleshooting\.md#(\w+)\)$/

/** A message as users read it: with the address of the heading that explains its code. */
export function withHelpLink(code: string, message: string): string {
  return `${message} (express-tollgate/docs/troubleshooting.md#${code.toLowerCase()})`
}

/** A message in its two parts. `code` is in lower case, and empty if there is no address. */
export function splitHelpLink(message: string): { readonly text: string; readonly code: string } {
  const [address = '', code = ''] = HELP_LINK.exec(message) ?? []
  return { text: message.slice(0, message.length - address.length), code }
}

/** What `assert.throws` and `assert.rejects` expect: an error with this text, its code, and the address of the code. */
export function says(expected: string | RegExp): (err: Error & { readonly code?: string }) => true {
  return (err) => {
    const { text, code } = splitHelpLink(err.message)
    assert.equal(err.code?.toLowerCase(), code, err.message)
    if (typeof expected === 'string') assert.equal(text, expected)
    else assert.match(text, expected)
    return true
  }
}
